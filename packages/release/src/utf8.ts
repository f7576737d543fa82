const decoder = new TextDecoder('utf-8', { fatal: true });

/** Decodes a text, without the mark that may stand at its beginning. @throws Error for bytes that are no text */
export function decodeUtf8(content: Uint8Array): string {
  try {
    return decoder.decode(content);
  } catch (cause) {
    throw new Error('is not UTF-8 text', { cause });
  }
}

/** Bytes of the mark at the beginning of a text; 0 without one. */
export const markLength = ([first, second, third]: Uint8Array): number => (first === 0xef && second === 0xbb && third === 0xbf ? 3 : 0);
