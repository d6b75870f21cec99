/** Describes how to get the access tokens that some providers need instead of a key. upstream/tokens/ gets them. */

/** A request for a token at an OAuth 2.0 server. @see RFC 6749 §4.4 */
export interface OauthToken {
  readonly kind: 'oauth';
  /** The name of the server for messages: `Microsoft Entra ID`. */
  readonly issuer: string;
  /** Absolute URL for the POST. */
  readonly url: string;
  /** The members of the form. Some are secrets. */
  readonly form: Readonly<Record<string, string>>;
  /** A member of the form with the content of a file, which is read for each request. */
  readonly fileMember?: readonly [name: string, file: string];
  /** A member of the form with the token of another identity provider, which is asked for each request. */
  readonly issuedMember?: readonly [name: string, issuer: IdentityIssuer];
  /** Other headers; names in lower case. Some are secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A header for the id of the request. */
  readonly idHeader?: string;
}

/** An identity provider of the host: its answer is the token, or has it in `value`. */
export interface IdentityIssuer {
  /** Absolute URL for the GET. */
  readonly url: string;
  /** Names in lower case. Some are secrets. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Tokens of Google's auth library. */
export interface GoogleToken {
  readonly kind: 'google';
  readonly issuer: string;
  /** A key as JSON, or the path of its file; null: Application Default Credentials. */
  readonly credentials: string | null;
}

/** Keys of AWS. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** null: the keys do not expire. */
  readonly sessionToken: string | null;
}

/** Keys of AWS, which sign each request. */
export interface AwsToken {
  readonly kind: 'aws';
  readonly issuer: string;
  /** Such as `us-east-1`. */
  readonly region: string;
  /** Such as `bedrock`. */
  readonly service: string;
  /** null: the profile has the keys. */
  readonly keys: AwsKeys | null;
  readonly profile: string;
  /** Paths of AWS's files; null: those in `~/.aws`. */
  readonly files: { readonly credentials: string | null; readonly config: string | null };
}

/** Source of tokens. */
export type TokenSettings = OauthToken | GoogleToken | AwsToken;
