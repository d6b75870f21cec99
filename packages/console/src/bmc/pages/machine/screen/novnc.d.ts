/** The part of noVNC's interface that the screen uses. */
declare module '@novnc/novnc' {
  export default class RFB extends EventTarget {
    constructor(target: HTMLElement, channel: WebSocket);
    background: string;
    scaleViewport: boolean;
    viewOnly: boolean;
    disconnect(): void;
    focus(options?: FocusOptions): void;
    /** @param code a key of the keyboard, as in `KeyboardEvent.code`; null: none. */
    sendKey(keysym: number, code: string | null, down?: boolean): void;
    toBlob(callback: (blob: Blob | null) => void, type?: string): void;
  }
}
