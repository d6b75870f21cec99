/** Describes how to get the access tokens that some providers need instead of a key. upstream/tokens/ gets them. */

/** A request for a token at an OAuth 2.0 server. @see RFC 6749 §4.4 */
export interface OauthToken {
  readonly kind: 'oauth';
  /** The name of the server for messages, such as `Microsoft Entra ID`. */
  readonly issuer: string;
  /** Absolute URL for the POST. */
  readonly url: string;
  /** The members of the form. Some are secrets. */
  readonly form: Readonly<Record<string, string>>;
  /**
   * A member of the form. Its value is a token of another identity provider, which the proxy reads or requests
   * each time.
   */
  readonly identityMember?: readonly [name: string, token: IdentityToken];
  /** Other headers; names in lower case. Some are secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of the header with a random id. Each token request has a new id. */
  readonly idHeader?: string;
}

/** A server that issues tokens to this host. Its answer is the token, or JSON with the token in `value`. */
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

/** A role of AWS that the proxy assumes. */
export interface AwsRole {
  readonly arn: string;
  readonly sessionName: string;
  /** null: the role needs none. */
  readonly externalId: string | null;
}

/** A token of an identity provider: the text itself, its file, or the server that issues it. */
export type IdentityToken = { readonly text: string } | { readonly file: string } | { readonly issuer: IdentityIssuer };

/** A role of AWS that the proxy assumes with a token of an identity provider. */
interface AwsWebIdentity {
  readonly role: AwsRole;
  readonly token: IdentityToken;
}

/** The address of a container's credentials, from ECS or from EKS. */
interface AwsContainer {
  readonly relativeUri?: string;
  readonly fullUri?: string;
  readonly token?: string;
  readonly tokenFile?: string;
}

/** The places where AWS's tools look for credentials, in their order. */
export interface AwsPlaces {
  /** Profile in AWS's files. */
  readonly profile: string;
  /** null: the environment has none. */
  readonly webIdentity: AwsWebIdentity | null;
  readonly container: AwsContainer | null;
  /** Whether the proxy also requests credentials from the metadata server of the virtual machine. */
  readonly asksMetadata: boolean;
}

/** The source of AWS's keys. Exactly one member is set. */
export interface AwsSource {
  readonly keys?: AwsKeys;
  readonly profile?: string;
  readonly webIdentity?: AwsWebIdentity;
  readonly places?: AwsPlaces;
}

/** Keys of AWS, which sign each request. */
export interface AwsToken {
  readonly kind: 'aws';
  readonly issuer: string;
  /** Such as `us-east-1`. Also the region of AWS's token service. */
  readonly region: string;
  /** Such as `bedrock`. */
  readonly service: string;
  readonly source: AwsSource;
  /** The role that the proxy assumes with the keys of the source; null: the keys of the source sign the requests. */
  readonly role: AwsRole | null;
  /** Address of AWS's token service; null: that of the region. */
  readonly stsEndpoint: string | null;
  /** Paths of AWS's files; null: those in `~/.aws`. */
  readonly files: { readonly credentials: string | null; readonly config: string | null };
}

/** Source of tokens. */
export type TokenSettings = OauthToken | GoogleToken | AwsToken;
