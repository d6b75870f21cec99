/** What a client asks for when it inserts an image. */
export interface ImageRequest {
  /** `http://…` or `https://…`, without credentials. */
  readonly url: URL;
  readonly userName?: string;
  readonly password?: string;
  readonly writeProtected: boolean;
  /** Verify the image server's certificate. */
  readonly verifyCertificate: boolean;
}
