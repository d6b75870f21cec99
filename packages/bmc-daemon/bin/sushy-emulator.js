#!/usr/bin/env node
// bmc-daemon under the name of the command that scripts and units for sushy-tools start. Flags, configuration and
// environment are those of bmc-daemon.
import './bmc-daemon.js';
