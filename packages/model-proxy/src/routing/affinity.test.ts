import { describe, expect, it } from '@jest/globals';
import { makeDeployment } from '../../test/support/deployment.js';
import { chooseForSession } from './affinity.js';

describe('the choice for a session', () => {
  it('is the same in every version, so that an update loses no cached prompts, and for a text and its bytes', () => {
    const selections = ['a', 'b', 'c'].map((id) => ({
      deployment: makeDeployment({ id }),
      modelGroup: 'm',
      upstreamModel: 'm',
    }));
    const limits = { inFlightOf: () => 0 };
    const sessions = ['', 'é\n', 'x'.repeat(1024), ...Array.from({ length: 20 }, (_, index) => `user-${index}`)];
    const chosen = sessions.map((session) => chooseForSession(selections, session, limits)?.deployment.id);
    expect(chosen.join('')).toBe('cacbbaabbbaabbacbaaabcc');
    const ofBytes = sessions.map((session) => chooseForSession(selections, Buffer.from(session, 'latin1'), limits));
    expect(ofBytes.map((selection) => selection?.deployment.id)).toEqual(chosen);
  });
});
