import { describe, expect, it } from '@jest/globals';
import { processorSockets } from './processor.js';

const topology = (count: number, sockets: number, coresPerSocket: number, threadsPerCore: number) => ({
  count,
  sockets,
  coresPerSocket,
  threadsPerCore,
  model: null,
});

describe('processors', () => {
  it('have one entry for each socket, with its cores and threads', () => {
    expect(processorSockets(topology(8, 2, 2, 2))).toEqual([
      { id: 'CPU0', cores: 2, threads: 4 },
      { id: 'CPU1', cores: 2, threads: 4 },
    ]);
  });

  it('omit offline CPUs, so that the threads add up to the CPUs of the guest', () => {
    expect(processorSockets(topology(3, 4, 2, 1))).toEqual([
      { id: 'CPU0', cores: 2, threads: 2 },
      { id: 'CPU1', cores: 1, threads: 1 },
    ]);
    expect(processorSockets(topology(5, 1, 4, 2))).toEqual([{ id: 'CPU0', cores: 3, threads: 5 }]);
  });
});
