/** `bmc-daemon htpasswd FILE USER`: sets the password of a user. */
import { CredentialsError, PasswordFileWriteError, setPassword } from '../password-file/password-file-writer.js';
import { askNewPassword, PasswordPromptError } from './password-prompt.js';

/** Asks for a password and stores it. @returns the exit code: 1 if no password was given or stored. */
export async function htpasswd(file: string, user: string): Promise<number> {
  try {
    const password = await askNewPassword({ input: process.stdin, output: process.stderr });
    const done = await setPassword(file, user, password);
    process.stderr.write(
      done === 'added' ? `user ${user} added to ${file}\n` : `password of ${user} changed in ${file}\n`,
    );
    return 0;
  } catch (error) {
    const expected = [CredentialsError, PasswordFileWriteError, PasswordPromptError];
    if (!(error instanceof Error) || !expected.some((kind) => error instanceof kind)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}
