/**
 * Declares paths that answer with a WebSocket (RFC 6455), such as the screen of a machine. The
 * pipeline checks the origin, the login, the privileges and the handshake, and then calls `open`.
 */
import type { Privilege } from './privileges.js';
import type { Awaitable, Params, Requester, UriParams } from './resource.js';

/** The request that opens a WebSocket. */
interface WebSocketRequest<Services, UriParameters> {
  readonly params: UriParameters;
  readonly services: Services;
  readonly requester: Requester;
}

/** The open connection to a client. */
export interface WebSocketClient {
  /** The current privileges of the client, which an administrator can change at any time. */
  readonly privileges: ReadonlySet<Privilege>;
  /**
   * Sends a text message for a string, and a binary message for bytes.
   * @returns false if the client reads more slowly than the handler sends. The handler must then
   *   stop until {@link WebSocketHandler.drained}. The service ends a connection with too many unsent
   *   bytes.
   */
  send(message: string | Uint8Array): boolean;
  /** Stops the messages of the client. A few messages that have already arrived may follow. */
  pause(): void;
  /** Lets the messages of the client arrive again. */
  resume(): void;
  /**
   * Ends the connection. Does nothing if it has ended.
   * @param code 1000 for a normal end, 1011 for a fault of the host, or 4000 + an HTTP status.
   * @param reason a sentence for the user. It is cut at 120 bytes.
   */
  close(code: number, reason: string): void;
}

/** Receives what the client sends. No method may throw. */
export interface WebSocketHandler {
  /** Called for each message. */
  message(data: Buffer, isBinary: boolean): void;
  /** Called after {@link WebSocketClient.send} returned false, when few bytes are unsent again. */
  drained?(): void;
  /** Called once, when the connection has closed. No message follows. */
  closed(): void;
}

/** A machine that is ready for a WebSocket. */
export interface OpenedWebSocket {
  /** UUID of the machine, for the limit of each machine. */
  readonly machine: string;
  /** Begins the work. Called at most once, after the handshake. */
  readonly accept: (client: WebSocketClient) => WebSocketHandler;
}

/** A WebSocket, as its file declares it, or, without parameters, as the pipeline uses it. */
export interface WebSocketDefinition<Services, Uri extends string = string, UriParameters = Params> {
  /** Entity of the PrivilegeRegistry, such as `ComputerSystem`. */
  readonly entity: string;
  /** The path, such as `/redfish/v1/Systems/{systemId}/GraphicalConsole`. */
  readonly uri: Uri;
  /** The service requires the privileges that this method of the entity requires. */
  readonly privilegesOf: 'GET' | 'POST';
  /** Maximum number of open WebSockets at this path of one machine. */
  readonly maxPerMachine: number;
  /**
   * Finds the machine before the handshake, so that it can still reject the request. Must not open
   * anything that needs a close.
   * @throws {RedfishError} {DriverError} if there is no such machine, or the machine has no such connection.
   */
  open(request: WebSocketRequest<Services, UriParameters>): Awaitable<OpenedWebSocket>;
}

/**
 * Returns a function that defines a WebSocket for one type of services, like `resourceDefiner` for
 * resources.
 */
export function webSocketDefiner<Services>() {
  return <const Uri extends string>(
    definition: WebSocketDefinition<Services, Uri, UriParams<Uri>>,
  ): WebSocketDefinition<Services> =>
    // The router provides exactly the template's parameters.
    definition as unknown as WebSocketDefinition<Services>;
}
