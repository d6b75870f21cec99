/** Selects the kind of an upstream's answer. */
import { mediaType } from '../request/request-head.js';
import { headerOf, type Answer, type AnswerContext } from './answer.js';
import { ErrorAnswer } from './error-answer.js';
import { EventAnswer } from './event-answer.js';
import { JsonAnswer } from './json-answer.js';
import { RawAnswer } from './raw-answer.js';
import { translatedAnswer } from './translated-answer.js';
import { UntypedAnswer } from './untyped-answer.js';

const EVENTS = 'text/event-stream';

/** Makes the answer by the upstream's status and content type, not by what the client requested. */
export function answerOf(context: AnswerContext): Answer {
  const { status, headers } = context;
  if (status < 200 || status >= 300) return new ErrorAnswer(context);
  const type = mediaType(headerOf(headers, 'content-type') ?? '');
  if (context.translated !== null) return translatedAnswer(context, context.translated, type);
  if (type === '' || status === 204 || (context.endpoint.answersJson && type.startsWith('text/') && type !== EVENTS))
    return new UntypedAnswer(context);
  if (type === EVENTS) return new EventAnswer(context);
  if (type === 'application/json' || type.endsWith('+json')) return new JsonAnswer(context);
  return new RawAnswer(context);
}
