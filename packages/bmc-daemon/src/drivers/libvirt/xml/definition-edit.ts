/**
 * One change of a machine's definition. All editors of this change, such as those in `os/` and
 * `devices/`, use one `DefinitionEdit`. So the definition is parsed only once, and each editor sees
 * the changes of earlier editors. The new text, with the record of the daemon, is written only once.
 */
import { readDomain, readRoot, type Domain } from './domain.js';
import { checkVersion } from './metadata/json-element.js';
import {
  findRecord,
  isEmptyRecord,
  isOldForm,
  METADATA_PREFIX,
  METADATA_URI,
  readMetadata,
  recordMarkup,
} from './metadata/metadata.js';
import type { MachineRecord } from './metadata/machine-record.js';
import { parseXml } from './parse.js';
import { child, type XmlElement } from './tree.js';
import { XmlEdit } from './xml-edit.js';

/** The values of a definition: of libvirt's elements, and of the daemon's record. */
export interface DefinitionValues {
  readonly domain: Domain;
  readonly record: MachineRecord;
}

/** Reads the values of a definition. @throws {DriverError} internal, if the XML is not a domain. */
export function readValues(xml: string): DefinitionValues {
  const document = parseXml(xml);
  return { domain: readDomain(document), record: readMetadata(document) };
}

/** A change of one definition. */
export class DefinitionEdit implements DefinitionValues {
  readonly xml: XmlEdit;
  #record: MachineRecord;
  #domain: { readonly version: number; readonly value: Domain } | null = null;
  /** Whether an editor has written the record. */
  #isRecordSet = false;

  /** @throws {DriverError} internal, if the definition is not well-formed. */
  constructor(definition: string) {
    const document = parseXml(definition);
    this.xml = new XmlEdit(document);
    this.#record = readMetadata(document);
  }

  /**
   * The definition with all edits so far. Its elements can be edited.
   * @throws {DriverError} internal, if the root is not `<domain>`, has no name, or has an invalid size.
   */
  get domain(): Domain {
    const { root, version } = this.xml;
    if (this.#domain?.version !== version) this.#domain = { version, value: readRoot(root) };
    return this.#domain.value;
  }

  /** The record with all edits so far. */
  get record(): MachineRecord {
    return this.#record;
  }

  /**
   * Replaces the record; {@link text} writes it. An empty record removes its element. Adds
   * `<metadata>` if necessary.
   * @throws {DriverError} conflict, if a newer version of the daemon has written the record in a
   *   newer format.
   */
  setRecord(record: MachineRecord): void {
    const { root } = this.xml;
    const existing = findRecord(root);
    checkVersion(root, existing, 'its metadata');
    this.#record = record;
    this.#isRecordSet = true;
    if (isEmptyRecord(record)) {
      if (existing !== undefined) this.xml.remove(existing);
    } else if (existing === undefined) this.#addElement(root);
  }

  /**
   * Changes the record. Does nothing if the change returns the same object.
   * @throws as {@link setRecord}.
   */
  editRecord(change: (record: MachineRecord) => MachineRecord): void {
    const changed = change(this.#record);
    if (changed !== this.#record) this.setRecord(changed);
  }

  /**
   * Returns the definition with all edits; the same text if nothing has changed. A changed
   * definition has its record in the current format.
   */
  text(): string {
    this.#writeRecord();
    return this.xml.text();
  }

  /** Returns whether the edits change the definition, without building its text. */
  isChanged(): boolean {
    this.#writeRecord();
    return this.xml.isChanged();
  }

  /** Writes the record into its element. */
  #writeRecord(): void {
    if (!this.#isRecordSet && isOldForm(findRecord(this.xml.root)) && this.xml.isChanged())
      this.setRecord(this.#record);
    const element = this.#isRecordSet ? findRecord(this.xml.root) : undefined;
    if (element !== undefined) this.xml.setMarkup(element, recordMarkup(this.#record));
  }

  /** Adds an element for the record. It stays empty until the text of the definition is made. */
  #addElement(root: XmlElement): void {
    const markup = `<${METADATA_PREFIX}:machine xmlns:${METADATA_PREFIX}='${METADATA_URI}'/>`;
    const metadata = child(root, 'metadata');
    if (metadata !== undefined) {
      this.xml.insert(metadata, markup);
      return;
    }
    // libvirt writes <metadata> after these elements, so the new element follows the last of them.
    const names = ['description', 'title', 'genid', 'uuid', 'name'];
    const after = names.map((name) => child(root, name)).find((element) => element !== undefined);
    this.xml.insert(root, ['<metadata>', `  ${markup}`, '</metadata>'], after ?? null);
  }
}

/**
 * Returns a changed definition; the same text if nothing changes.
 * @throws {DriverError} internal, if the definition is not well-formed. Also throws the errors of `change`.
 */
export function edited(definition: string, change: (edit: DefinitionEdit) => void): string {
  const edit = new DefinitionEdit(definition);
  change(edit);
  return edit.text();
}
