import { describe, expect, it } from '@jest/globals';
import { afterBoot, mergeBootOverride, noOverride, overrideDevice, untouchedOverride } from './boot-override.js';

describe('boot override', () => {
  it('of a machine never touched is its first device, continuously (B6)', () => {
    expect(untouchedOverride('hd')).toEqual({ enabled: 'continuous', target: 'hd' });
  });

  it('keeps Enabled when only the target changes, in each of the three states (B6)', () => {
    for (const enabled of ['continuous', 'once', 'disabled'] as const) {
      expect(mergeBootOverride({ enabled, target: 'hd' }, { target: 'cdrom' })).toEqual({ enabled, target: 'cdrom' });
    }
  });

  it('keeps the target when only Enabled changes (B6)', () => {
    expect(mergeBootOverride({ enabled: 'continuous', target: 'cdrom' }, { enabled: 'once' })).toEqual({
      enabled: 'once',
      target: 'cdrom',
    });
    expect(mergeBootOverride({ enabled: 'continuous', target: 'cdrom' }, { enabled: 'disabled' })).toEqual({
      enabled: 'disabled',
      target: 'cdrom',
    });
  });

  it('is gone when the target is none, whatever Enabled says (B6)', () => {
    for (const change of [
      { target: 'none' },
      { target: 'none', enabled: 'disabled' },
      { target: 'none', enabled: 'once' },
    ] as const) {
      expect(mergeBootOverride({ enabled: 'once', target: 'cdrom' }, change)).toEqual(noOverride);
    }
  });

  it('applies to the next boot unless it is disabled or has no target (B6)', () => {
    expect(overrideDevice({ enabled: 'once', target: 'network' })).toBe('network');
    expect(overrideDevice({ enabled: 'continuous', target: 'cdrom' })).toBe('cdrom');
    expect(overrideDevice({ enabled: 'disabled', target: 'cdrom' })).toBeUndefined();
    expect(overrideDevice({ enabled: 'once', target: 'none' })).toBeUndefined();
  });

  it('is used up by one boot when it was for once, and reads Disabled then (B6)', () => {
    expect(afterBoot({ enabled: 'once', target: 'cdrom' })).toEqual({ enabled: 'disabled', target: 'none' });
    expect(afterBoot({ enabled: 'continuous', target: 'cdrom' })).toEqual({ enabled: 'continuous', target: 'cdrom' });
    expect(afterBoot({ enabled: 'disabled', target: 'cdrom' })).toEqual({ enabled: 'disabled', target: 'cdrom' });
  });
});
