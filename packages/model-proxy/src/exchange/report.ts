/**
 * Makes the report of a finished request, in the form of LiteLLM's standard logging payload. It
 * contains no prompts, no answers and no keys. Exception: the message of an error may quote a part
 * of the upstream's answer.
 * @see https://docs.litellm.ai/docs/proxy/logging_spec
 */
import { performance } from 'node:perf_hooks';
import type { RequestRecord } from '../series.js';
import { clientAddress } from '../auth/gate.js';
import { shownApiBase } from './answer/answer-headers.js';
import { countedUsage } from './counted-usage.js';
import type { Exchange } from './exchange.js';
import { tagsOf } from './settle.js';

/** LiteLLM's text in place of prompts and answers. */
const REDACTED = 'redacted-by-litellm';
/** Maximum length of an error's message, which may contain a part of an answer. */
const MAX_ERROR_LENGTH = 1000;

/** LiteLLM's names of calls, by the path below `/v1/`. */
const callTypes: ReadonlyMap<string, string> = new Map([
  ['chat/completions', 'acompletion'],
  ['completions', 'atext_completion'],
  ['embeddings', 'aembedding'],
  ['responses', 'aresponses'],
  ['responses/compact', 'acompact_responses'],
  ['messages', 'anthropic_messages'],
  ['moderations', 'amoderation'],
  ['rerank', 'arerank'],
  ['images/generations', 'aimage_generation'],
  ['images/edits', 'aimage_edit'],
  ['audio/speech', 'aspeech'],
  ['audio/transcriptions', 'atranscription'],
]);

/**
 * Returns whether a request gets a report: its client has been accepted, and it has a deployment or
 * one of the routes above. A request to a list of models has a report for each model instead.
 */
export function isReported({ client, selection, routeLabel, parts }: Exchange): boolean {
  if (parts.length > 0 || client === null) return false;
  return selection !== null || callTypes.has(routeLabel.slice('/v1/'.length));
}

/** Makes the report. @param record of the same request. */
export function reportOf(exchange: Exchange, record: RequestRecord): object {
  const { selection, client, error, request, proxy, firstByteAt, streamed, startedAt } = exchange;
  const usage = countedUsage(exchange);
  const seconds = (at: number) => (performance.timeOrigin + at) / 1000;
  const address = clientAddress(request, proxy.settings.useXForwardedFor);
  const deployment = selection?.deployment;
  const apiBase = deployment === undefined ? null : shownApiBase(deployment);
  const isFailure = record.status >= 400 || error !== null;
  return {
    id: exchange.callId,
    trace_id: exchange.id,
    call_type: callTypes.get(exchange.routeLabel.slice('/v1/'.length)) ?? 'pass_through_endpoint',
    status: isFailure ? 'failure' : 'success',
    stream: streamed,
    custom_llm_provider: deployment?.provider.name ?? null,
    model: selection?.upstreamModel ?? '',
    model_group: selection?.modelGroup ?? null,
    model_id: deployment?.id ?? null,
    api_base: apiBase,
    startTime: seconds(startedAt),
    endTime: seconds(startedAt + record.totalMs),
    completionStartTime: firstByteAt === 0 ? null : seconds(firstByteAt),
    response_time: record.totalMs / 1000,
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    response_cost: record.costUsd,
    cache_hit: false,
    request_tags: tagsOf(exchange),
    end_user: exchange.endUser,
    requester_ip_address: address,
    metadata: {
      user_api_key_hash: client?.key?.digest ?? null,
      user_api_key_alias: client?.alias ?? null,
      requester_ip_address: address,
    },
    hidden_params: { model_id: deployment?.id ?? null, api_base: apiBase },
    messages: REDACTED,
    response: REDACTED,
    error_str: error === null ? null : error.message.slice(0, MAX_ERROR_LENGTH),
    error_information:
      error === null
        ? null
        : {
            error_code: String(record.status),
            error_class: error.kind,
            llm_provider: deployment?.provider.name ?? null,
            error_message: error.message.slice(0, MAX_ERROR_LENGTH),
          },
  };
}
