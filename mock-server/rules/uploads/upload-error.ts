/** An upload request that is refused with an HTTP status; the message is what the client reads. */
export class UploadError extends Error {
  override readonly name = "UploadError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
