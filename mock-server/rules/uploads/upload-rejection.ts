/** An upload request that is refused with an HTTP status; the message is what the client reads. */
export class UploadRefusal extends Error {
  override readonly name = "UploadRefusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
