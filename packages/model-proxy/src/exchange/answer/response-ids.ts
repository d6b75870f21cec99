/** Changes the ids in answers of `/v1/responses`, so that later requests find the deployment again. */
import { rewriteAnswer, rewriteText, type AnswerRewrite } from '../../json/rewrite-answer.js';
import { encodeResponseId, PREVIOUS_RESPONSE } from '../../providers/response-id.js';
import { chainedRewriter } from '../../sse/chained-rewriter.js';
import { createEventRewriter, type EventRewriter } from '../../sse/event-rewriter.js';
import type { AnswerContext } from './answer.js';

type IdContext = Pick<AnswerContext, 'endpoint' | 'exchange'>;

/** The change of one id. */
interface IdRewrite {
  /** The member of a response that has the id. */
  readonly member: string;
  /** Returns the id for clients. */
  readonly toClientId: (upstreamId: string) => string;
}

/**
 * Returns the changes for the ids of a response: its own, and that of the response that it continues. The change of
 * its own id also stores the upstream's id in the exchange. Empty: ids do not change.
 */
function rewritesOf({ endpoint, exchange }: IdContext): readonly IdRewrite[] {
  const deployment = exchange.selection?.deployment;
  if (!endpoint.storesAnswers || deployment === undefined) return [];
  const { id: deploymentId, provider } = deployment;
  const toClientId = (upstreamId: string) => encodeResponseId(provider.name, { deploymentId, upstreamId });
  const ownId = (upstreamId: string) => {
    exchange.responseId = upstreamId;
    return toClientId(upstreamId);
  };
  return [
    { member: 'id', toClientId: ownId },
    { member: PREVIOUS_RESPONSE, toClientId },
  ];
}

const inAnswer = ({ member, toClientId }: IdRewrite): AnswerRewrite => ({
  modelPaths: [[member]],
  model: toClientId,
  nullable: null,
});

/** Changes the ids of a JSON answer if the endpoint stores answers. */
export function withClientIds(context: IdContext, chunks: Buffer[]): Buffer[] {
  return rewritesOf(context).reduce((answer, rewrite) => rewriteAnswer(answer, inAnswer(rewrite)), chunks);
}

/** Changes the ids as {@link withClientIds}. @param text a small answer, as latin1. */
export function withClientIdsInText(context: IdContext, text: string): string {
  return rewritesOf(context).reduce(
    (answer, rewrite) => rewriteText(Buffer.from(answer, 'latin1'), answer, inAnswer(rewrite)),
    text,
  );
}

/** Returns a rewriter that also changes the ids in events if the endpoint stores answers, otherwise `rewriter`. */
export function withClientIdsInEvents(context: IdContext, rewriter: EventRewriter): EventRewriter {
  return rewritesOf(context).reduce(
    (first, { member, toClientId }) =>
      chainedRewriter(first, createEventRewriter({ modelPaths: [['response', member]], model: toClientId })),
    rewriter,
  );
}
