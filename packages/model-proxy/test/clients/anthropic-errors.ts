/** Errors of Anthropic's SDK. */
import { APIError } from '@anthropic-ai/sdk';

/** Returns the error of a request that must fail. */
export async function errorOf(request: PromiseLike<unknown>): Promise<APIError> {
  try {
    await request;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error('the request succeeded');
}
