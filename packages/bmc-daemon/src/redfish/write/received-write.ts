/** The steps of a write before its resource is loaded: the body, and the turn of the write. */
import type { Answer } from '../answer.js';
import { unsharedBodyBytes } from '../body/body.js';
import type { Exchange } from '../exchange.js';
import type { JsonObject } from '../json.js';
import { clientGoneError } from '../messages/errors.js';
import type { EndpointOptions, Operation } from '../operation.js';
import type { Params } from '../resource.js';

/** A function that returns the body; undefined if the request has none. Throws the fault of an invalid body. */
export type BodyOrFault = () => JsonObject | undefined;

/**
 * A write whose turn has come. The service receives the body before the write loads the entity,
 * because the entity could change while a slow body arrives. The write first checks its conditions (If-Match,
 * If-None-Match), and then calls `receivedBody`, which throws the faults of the body.
 */
type ReceivedWrite = (exchange: Exchange, params: Params, receivedBody: BodyOrFault) => Promise<Answer>;

type Options = Pick<EndpointOptions<never>, 'readBody' | 'writeTurns'>;

/**
 * Returns the operation that reads the body, waits for the turn of the write, and runs the write. After a
 * wait for the body or for the turn, it checks the rights of the client again. It throws a 499 if the client
 * disconnects while the write waits for its turn.
 */
export function inTurn(options: Options, write: ReceivedWrite): Operation {
  const { readBody, writeTurns } = options;
  return async (incoming, params) => {
    const waitsForBody = !incoming.request.complete;
    const receivedBody = await receive(readBody(incoming.request));
    const { requester } = incoming;
    const client = `${requester.user ?? ''} ${requester.address}`;
    const run = async (waited: boolean): Promise<Answer> =>
      write(waitsForBody || waited ? await incoming.reauthorize() : incoming, params, receivedBody);
    // Does not use `requester.signal`, because its abort creates an error object for each write.
    const isGone = (): boolean => incoming.request.socket.destroyed;
    const answer = await writeTurns.run(client, isGone, run);
    if (answer === undefined) throw clientGoneError();
    return answer;
  };
}

/**
 * Returns the operation of a write that needs no login, such as the login itself. It has no turn, because logins have
 * their own queue. After a wait for the body, it checks the rights of the client again.
 */
export function withoutTurn({ readBody }: Options, write: ReceivedWrite): Operation {
  return async (incoming, params) => {
    const waitsForBody = !incoming.request.complete;
    const receivedBody = await receive(readBody(incoming.request, unsharedBodyBytes));
    return write(waitsForBody ? await incoming.reauthorize() : incoming, params, receivedBody);
  };
}

async function receive(body: Promise<JsonObject | undefined>): Promise<BodyOrFault> {
  return await body.then<BodyOrFault, BodyOrFault>(
    (object) => () => object,
    (error: unknown) => () => {
      throw error;
    },
  );
}
