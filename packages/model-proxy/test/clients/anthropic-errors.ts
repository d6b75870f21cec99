/** Errors of Anthropic's SDK. */
import { APIError } from '@anthropic-ai/sdk';

/** Returns the error of a request. @throws {Error} if the request succeeds, or fails with another error. */
export async function errorOf(request: PromiseLike<unknown>): Promise<APIError> {
  try {
    await request;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error('the request succeeded');
}
