/** Decides which name of the model an answer contains (`model_name_in_response`). */
import type { ModelNameInResponse } from '../../settings.js';
import type { AnswerContext } from './answer.js';

/** Returns how answers rename the model; null: they keep the upstream's name. */
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
