#!/usr/bin/env node
// The name that scripts and units of sushy-tools start. Flags, configuration and environment are
// the same.
import './bmc-daemon.js';
