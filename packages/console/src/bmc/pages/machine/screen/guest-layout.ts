/** The keyboard layout of the guests, which the user chooses once. */
import { signal } from '@preact/signals';
import type { LayoutName } from './layouts.js';

/** The layout. Most guests of a user have the same layout, so it applies to all machines. */
export const guestLayout = signal<LayoutName>('us');
