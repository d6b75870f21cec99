/** The entry point of the console of model-proxy. */
import { startTheme } from '../ui/frame/theme.js';

startTheme();
