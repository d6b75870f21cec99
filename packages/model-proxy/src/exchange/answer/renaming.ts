/** Decides which name of the model an answer contains (`model_name_in_response`). */
import type { ModelNameInResponse } from '../../settings.js';
import type { AnswerContext } from './answer.js';

/** Returns the function that makes the client's name of the model from the upstream's; null: the name stays. */
export function renaming(setting: ModelNameInResponse, provider: string, requested: string): AnswerContext['rename'] {
  switch (setting) {
    case 'upstream':
      return null;
    case 'requested':
      return () => requested;
    case 'provider': {
      const prefix = `${provider}/`;
      return (reported) => (reported.startsWith(prefix) ? reported : prefix + reported);
    }
  }
}
