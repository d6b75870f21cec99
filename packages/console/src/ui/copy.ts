/** Copies texts to the clipboard. */
import { showToast } from './frame/toast.js';
import { uiTexts as texts } from '../texts/index.js';

/** Copies a text, and shows in a toast whether this succeeded. */
export async function copyText(text: string): Promise<void> {
  try {
    // Browsers have `clipboard` only for HTTPS and localhost.
    if (isSecureContext) await navigator.clipboard.writeText(text);
    else copyWithSelection(text);
    showToast('good', texts.copied);
  } catch {
    showToast('bad', texts.notCopied);
  }
}

/** Copies a text through a selected field. @throws {Error} if the browser rejects the copy. */
function copyWithSelection(text: string): void {
  const opener = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  // Inside an open dialog, only elements of the dialog can have the focus.
  (opener?.closest('dialog') ?? document.body).append(area);
  area.select();
  // oxlint-disable-next-line typescript/no-deprecated -- browsers have no other way without HTTPS
  const isCopied = document.execCommand('copy');
  area.remove();
  if (opener instanceof HTMLElement) opener.focus();
  if (!isCopied) throw new Error('the browser rejected the copy');
}
