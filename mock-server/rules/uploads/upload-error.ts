/** An upload request is rejected with an HTTP status; the client gets the message. */
export class UploadError extends Error {
  override readonly name = "UploadError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
