import { describe, expect, it } from '@jest/globals';
import type { Machine } from '../../../redfish/machines.js';
import { bootTargets, offeredActions, planOf, type BulkAction } from './plan.js';

const machine = (Id: string, PowerState: 'On' | 'Off', offered: readonly string[] = ['On', 'ForceOff']): Machine => ({
  '@odata.id': `/redfish/v1/Systems/${Id}`,
  Id,
  Name: Id,
  PowerState,
  Actions: { '#ComputerSystem.Reset': { target: '', 'ResetType@Redfish.AllowableValues': offered } },
});
const on = machine('on', 'On');
const off = machine('off', 'Off');
const limited = machine('limited', 'On', ['ForceOff', 'ForceRestart']);
const plan = (action: BulkAction, ...machines: readonly Machine[]) => {
  const { changed, skipped } = planOf(action, machines, new Map([['off', []]]));
  return {
    changed: changed.map(({ Id }) => Id),
    skipped: skipped.map(({ machine: { Id }, reason }) => `${Id}: ${reason}`),
  };
};

describe('planOf', () => {
  it('skips machines that already have the requested power state', () => {
    expect(plan('On', on, off)).toEqual({ changed: ['off'], skipped: ['on: already on'] });
    expect(plan('ForceOff', on, off)).toEqual({ changed: ['on'], skipped: ['off: already off'] });
  });

  it('skips machines that do not offer the action', () => {
    expect(plan('ForceRestart', on, limited)).toEqual({
      changed: ['limited'],
      skipped: ['on: the machine does not offer this action'],
    });
  });

  it('skips machines without an image, but not those whose drives are unknown', () => {
    expect(plan('eject', on, off)).toEqual({ changed: ['on'], skipped: ['off: no image inserted'] });
  });
});

it('offeredActions returns the actions that at least one machine offers', () => {
  expect(offeredActions([on, limited], () => true)).toEqual(['On', 'ForceRestart', 'ForceOff', 'eject']);
  expect(offeredActions([{ ...on, Boot: {} }], () => true)).toContain('boot');
  expect(offeredActions([], () => true)).toEqual([]);
});

it('offeredActions returns only the actions that the role may perform', () => {
  const mayOnly = (wanted: string) => (privilege: string) => privilege === wanted;
  expect(offeredActions([on], mayOnly('ConfigureComponents'))).toEqual(['On', 'ForceOff']);
  expect(offeredActions([on], mayOnly('ConfigureManager'))).toEqual(['eject']);
});

it('bootTargets returns only boot targets that need no further value', () => {
  const offered = ['UefiTarget', 'Cd', 'UefiHttp', 'Pxe'];
  expect(bootTargets({ ...on, Boot: { 'BootSourceOverrideTarget@Redfish.AllowableValues': offered } })).toEqual([
    'Pxe',
    'Cd',
  ]);
});
