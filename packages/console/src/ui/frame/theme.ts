/** The color theme: light, dark, or the system's. */
import { effect, signal } from '@preact/signals';

/** A choice of the user. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'rackless.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(dark.matches);

/** The user's choice. The browser stores it. */
export const theme = signal<Theme>(storedTheme());

/** Applies the theme, now and after each change. */
export function startTheme(): void {
  dark.addEventListener('change', () => {
    isSystemDark.value = dark.matches;
  });
  effect(() => {
    const isDark = theme.value === 'dark' || (theme.value === 'system' && isSystemDark.value);
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
  });
  effect(() => {
    try {
      localStorage.setItem(KEY, theme.value);
    } catch {
      // A browser without storage uses the system's theme after a reload.
    }
  });
}

function storedTheme(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}
