/** The entry point of the console of bmc-daemon. */
import { render } from 'preact';
import { startKeepingFocus } from '../ui/frame/focus.js';
import { startRouter } from '../ui/frame/router.js';
import { startTheme } from '../ui/frame/theme.js';
import { startVisibleTexts } from '../ui/frame/visible-text.js';
import { App } from './app.js';

const root = document.getElementById('app');
if (root !== null) {
  // Removes the text of the page, which says that the console has not loaded yet.
  root.replaceChildren();
  startVisibleTexts();
  startTheme();
  startRouter();
  startKeepingFocus();
  render(<App />, root);
}
