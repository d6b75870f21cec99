/** Removes secrets and folders from texts of hypervisors, for messages to clients. */
import { maskUrl } from '@rackless/daemon/text/mask-url.js';

// The limit of the scheme keeps the time linear.
const URL_IN_TEXT = /[a-z][a-z0-9+.-]{0,40}:\/\/[^\s'"<>]+/gi;
const QUOTED_PATH = /(['"])\/(?:[^'"\n]*\/)?([^'"/\n]+)\1/g;
const PATH = /(?<![\w./:~*-])\/(?:[^\s/'":,;]+\/)+([^\s/'":,;]+)/g;

/**
 * Returns a text of the hypervisor, such as libvirt or QEMU, without the secrets of its URLs. Replaces the
 * paths of files by their names: a client needs the name to find the fault, but must not see the folders of
 * the host. The log has the whole text.
 */
export const hypervisorText = (text: string): string =>
  text
    .replace(URL_IN_TEXT, (url) => maskUrl(url))
    .replace(QUOTED_PATH, '$1$2$1')
    .replace(PATH, '$1');
