import { posix } from 'node:path';

/** Links of a document that lead nowhere: a file that is not there, or an anchor that the file does not have. */
export function brokenLinks(documents: ReadonlyMap<string, string>, files: ReadonlySet<string>): string[] {
  return [...documents].flatMap(([document, text]) =>
    linksIn(text)
      .filter((link) => !/^[a-z][a-z0-9+.-]*:/.test(link))
      .filter((link) => !leadsSomewhere(document, link, documents, files))
      .map((link) => `${document}: ${link}`),
  );
}

function leadsSomewhere(document: string, link: string, documents: ReadonlyMap<string, string>, files: ReadonlySet<string>): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? document : posix.normalize(posix.join(posix.dirname(document), path)).replace(/\/$/, '');
  const isFolder = (): boolean => [...files].some((file) => file.startsWith(`${target}/`));
  if (!files.has(target) && !isFolder()) return false;
  if (anchor === undefined) return true;
  const text = documents.get(target);
  return text !== undefined && anchorsOf(text).has(anchor);
}

/** What is outside of fenced code, with code spans blanked for links in them. */
const proseOf = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, '');

function linksIn(text: string): string[] {
  const prose = proseOf(text).replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
}

/** Anchors of a document as GitHub makes them: of headings, a repeated one with a number, and those that are written out. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id));
  const times = new Map<string, number>();
  for (const [, heading = ''] of proseOf(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
    const before = times.get(slug) ?? 0;
    times.set(slug, before + 1);
    anchors.add(before === 0 ? slug : `${slug}-${before}`);
  }
  return anchors;
}
