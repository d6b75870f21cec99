import { describe, expect, it } from '@jest/globals';
import { asRoot, commandLine, editCommand, installCommand } from './commands.js';

describe('a command', () => {
  it('quotes words with spaces and characters of the shell', () => {
    expect(commandLine('rm', '--', "/tmp/it's", 'a b', 'plain-1.2')).toBe("rm -- '/tmp/it'\\''s' 'a b' plain-1.2");
  });

  it('uses sudo for other accounts than root', () => {
    expect([0, 1000, null].map((uid) => asRoot('true', uid))).toEqual(['true', 'sudo true', 'sudo true']);
  });

  it.each([
    ['/etc/bmc.conf:7: EMULATOR_SSDP must be …', '"${EDITOR:-vi}" +7 /etc/bmc.conf'],
    ['my lab/bmc.conf:12', `"\${EDITOR:-vi}" +12 'my lab/bmc.conf'`],
    ['environment EMULATOR_SSDP: …', null],
    ['default', null],
  ])('opens the file of the place %s at the line, and is null if the place names no file', (place, command) => {
    expect(editCommand(place)).toBe(command);
  });

  it.each([
    ['ID=debian\n', 'apt-get install ovmf', 'apt-get install --reinstall ovmf'],
    ['ID=ubuntu\nID_LIKE=debian\n', 'apt-get install ovmf', 'apt-get install --reinstall ovmf'],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', 'dnf install edk2-ovmf', 'dnf reinstall edk2-ovmf'],
    ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', 'zypper install ovmf', 'zypper install --force ovmf'],
    ['ID=arch\n', 'pacman -S ovmf', 'pacman -S ovmf'],
    ['', 'apt-get install ovmf', 'apt-get install --reinstall ovmf'],
  ])('installs a package on %j', (release, install, again) => {
    const names = { debian: 'ovmf', fedora: 'edk2-ovmf' };
    expect([installCommand(names, { release }), installCommand(names, { release, again: true })]).toEqual([
      install,
      again,
    ]);
  });
});
