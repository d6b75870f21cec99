import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { initialAccessState, openAccessState } from './access-state.js';

it('openAccessState accepts stored roles with names that clients can no longer choose, so the daemon starts', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bmc-state-'));
  try {
    const stored = { ...initialAccessState, roles: [{ id: 'Members', privileges: [] }] };
    writeFileSync(path.join(folder, 'access.json'), JSON.stringify(stored));
    expect(openAccessState(folder, { warn: () => undefined, error: () => undefined }).state).toEqual(stored);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
