import { describe, expect, it } from '@jest/globals';
import { afterBoot, mergeBootOverride, noOverride, overrideDevice, untouchedOverride } from './boot-override.js';

describe('the boot override', () => {
  it('is the first device, continuously, for a machine without changes', () => {
    expect(untouchedOverride('hd')).toEqual({ enabled: 'continuous', target: 'hd' });
  });

  it('keeps Enabled when only the target changes, in each of the three states', () => {
    for (const enabled of ['continuous', 'once', 'disabled'] as const) {
      expect(mergeBootOverride({ enabled, target: 'hd' }, { target: 'cdrom' })).toEqual({ enabled, target: 'cdrom' });
    }
  });

  it('keeps the target when only Enabled changes', () => {
    expect(mergeBootOverride({ enabled: 'continuous', target: 'cdrom' }, { enabled: 'once' })).toEqual({
      enabled: 'once',
      target: 'cdrom',
    });
    expect(mergeBootOverride({ enabled: 'continuous', target: 'cdrom' }, { enabled: 'disabled' })).toEqual({
      enabled: 'disabled',
      target: 'cdrom',
    });
  });

  it('is disabled by the target none, whatever value Enabled has', () => {
    for (const change of [
      { target: 'none' },
      { target: 'none', enabled: 'disabled' },
      { target: 'none', enabled: 'once' },
    ] as const) {
      expect(mergeBootOverride({ enabled: 'once', target: 'cdrom' }, change)).toEqual(noOverride);
    }
  });

  it('applies to the next boot unless it is disabled or has no target', () => {
    expect(overrideDevice({ enabled: 'once', target: 'network' })).toBe('network');
    expect(overrideDevice({ enabled: 'continuous', target: 'cdrom' })).toBe('cdrom');
    expect(overrideDevice({ enabled: 'disabled', target: 'cdrom' })).toBeUndefined();
    expect(overrideDevice({ enabled: 'once', target: 'none' })).toBeUndefined();
  });

  it('is disabled by a boot if it was Once', () => {
    expect(afterBoot({ enabled: 'once', target: 'cdrom' })).toEqual({ enabled: 'disabled', target: 'none' });
    expect(afterBoot({ enabled: 'continuous', target: 'cdrom' })).toEqual({ enabled: 'continuous', target: 'cdrom' });
    expect(afterBoot({ enabled: 'disabled', target: 'cdrom' })).toEqual({ enabled: 'disabled', target: 'cdrom' });
  });
});
