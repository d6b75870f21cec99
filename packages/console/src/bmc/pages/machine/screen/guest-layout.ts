/** The keyboard layout of the guests, which the user chooses once. */
import { signal } from '@preact/signals';
import type { LayoutName } from './layouts.js';

/** The layout, until the web page is loaded again. Most guests of a user have the same layout, so it applies to all. */
export const guestLayout = signal<LayoutName>('us');
