/** Saves data that needs a log-in, which a link cannot send. */

/** Offers a file to the user. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has opened the file when the click returns.
  URL.revokeObjectURL(address);
}
