/** Saves data that the service sends only after a login. A link cannot send the login. */

/** Offers a file to the user. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has opened the file when the click returns, so the address is not necessary anymore.
  URL.revokeObjectURL(address);
}
