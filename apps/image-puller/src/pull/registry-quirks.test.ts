/** Odd answers of registries, storage and proxies: the answer of the puller to each, whatever it is asked of, and its price in bytes. */
import { QUIRKS } from '@flotilla/registry/testing';
import { expect, test } from 'vitest';
import { playQuirk, type QuirkCell } from '../../testing/quirky-pull.ts';

type Name = keyof typeof QUIRKS;
/** Words of the failure while it lasts; `pulled` where it costs nothing but bytes. */
type Answer = 'pulled' | RegExp;
interface Row {
  readonly lasting: Answer | ((cell: QuirkCell) => Answer);
  /** Bytes served by those of the image, where a quirk wastes some. A body that is hung up on fills the buffers of this machine. */
  readonly most?: number;
}

const ifManifest =
  (manifest: Answer, other: Answer) =>
  ({ target }: QuirkCell): Answer =>
    target === 'manifest' ? manifest : other;
const PAGE = /answered a web page in place of (?:manifest|blob) .*a proxy or a log-in page is in between/;
const CUT = /other side closed/;
const NOT_THAT = /is not what its digest says|has digest sha256:\w+/;
const rows: Readonly<Record<Name, Row>> = {
  'no ranges: 200 and the whole': { lasting: 'pulled', most: 1.55 },
  'a range that begins earlier': { lasting: 'pulled' },
  'a range that begins later': { lasting: 'pulled', most: 2.05 },
  'a range that does not say which it is': { lasting: 'pulled', most: 2.05 },
  'a range of another length': { lasting: 'pulled', most: 2.05 },
  '416 for open ranges': { lasting: 'pulled' },
  '416 for every range': { lasting: 'pulled', most: 1.55 },
  // The runtime begins anew; a layout has nobody to leave it to.
  '416 for open ranges, and a cut of closed ones': {
    lasting: ({ store, target }) => (store === 'layout' && target === 'layer that was cut' ? CUT : 'pulled'),
    most: 1.45,
  },
  '400': { lasting: /answered 400 \(RequestTimeout Your socket connection was not read in time\)/ },
  'storage whose address ran out: 403': {
    lasting: /localhost:\d+ \(storage of 127\S+\) answered 403 \(AccessDenied Request has expired\)/,
  },
  'storage that has it not yet: 404': { lasting: /localhost:\d+ \(storage of 127\S+\) answered 404; the registry is asked/ },
  '409': { lasting: /answered 409 \(UNKNOWN a copy is under way\)/ },
  '429': { lasting: /answered 429 \(TOOMANYREQUESTS slow down\); the registry limits our rate/ },
  '429 with Retry-After: 3600': { lasting: /answered 429 \(TOOMANYREQUESTS slow down\) and asks to wait 3600 s/ },
  '429 with a Retry-After that cannot be read': { lasting: /answered 429; the registry limits our rate/ },
  '502 with a page': { lasting: /answered 502; the registry has a problem/ },
  '503 with nothing': { lasting: /answered 503; the registry has a problem/ },
  'a log-in page with 200': { lasting: PAGE },
  'a log-in page with 200 that says no type': {
    lasting: ({ target }) => (target === 'layer that was cut' ? /ended at byte 2\d{6} of 5242880/ : PAGE),
  },
  'a redirect to a log-in page': { lasting: PAGE },
  'a cut before the first byte': { lasting: CUT },
  'a cut after the first byte': { lasting: CUT },
  // The runtime goes on with half of what is left: a short document arrives where it has tries enough.
  'a cut in the middle': {
    lasting: ({ store, target }) => (target.startsWith('layer') ? 'pulled' : store === 'layout' ? CUT : /^$|other side closed/),
  },
  'a cut before the last byte': {
    lasting: ({ store, target }) => (store === 'layout' && target === 'manifest' ? CUT : 'pulled'),
  },
  'a length that is too long': {
    lasting: ({ store, target }) =>
      target === 'manifest'
        ? CUT
        : target === 'configuration' || (store === 'layout' && target === 'layer')
          ? /answered \d+1?2? bytes for blob/
          : 'pulled',
    most: 3,
  },
  'a length that is too short': { lasting: /answered \d+ bytes for blob|ended at byte 5242879 of 5242880|has digest/, most: 3 },
  'more bytes than it has, without a length': { lasting: ifManifest(/has digest/, /is longer than its \d+ bytes/), most: 6.5 },
  'other bytes of the right length': { lasting: NOT_THAT, most: 6.05 },
  'a Docker-Content-Digest that lies': { lasting: ifManifest(/has digest sha256:\w+/, 'pulled') },
  'a Docker-Content-Digest that is none': {
    lasting: ({ store, target }) => (store === 'containerd' && target === 'manifest' ? /manifests\/sha256:none: 404/ : 'pulled'),
  },
  'a redirect to itself': { lasting: /more than 5 redirects/ },
  'chunked, without a length': { lasting: 'pulled' },
  'gzip that nobody asked for, broken': { lasting: /a compression that is broken, and that nobody asked for/, most: 50 },
  'hostile words': { lasting: /answered 500 \( ?\[31m alert\(1\)/ },
  'hostile words of storage': { lasting: /\(storage of 127\S+\) answered 500 \(A ?\[31mw/ },
};

const columns = (['always', 'twice'] as const).flatMap((time) =>
  (['manifest', 'configuration', 'layer', 'layer that was cut'] as const).flatMap((target) =>
    (['containerd', 'layout'] as const).map((store): QuirkCell => ({ store, target, time })),
  ),
);
/** `npm run matrix:registries` plays all cells; the suite plays one of each row, and of each column, and those in which parts are gone on from. */
const { CELLS } = process.env;
const isPart = (name: string, { target, time }: QuirkCell): boolean =>
  /range/.test(name) && target === 'layer that was cut' && time === 'always';
const cells = (Object.keys(QUIRKS) as Name[])
  .flatMap(
    (name, row) =>
      columns.flatMap((cell, column) =>
        CELLS === 'all' || isPart(name, cell) || column === (row * 3) % columns.length ? [{ name, ...cell }] : [],
      ),
    // A byte for each connection is progress, and takes five million of them.
  )
  .filter(({ name, target, time }) => name !== 'a cut after the first byte' || time === 'twice' || !target.startsWith('layer'));

test('the runtime asks the same registry, so it is asked once the wait is over that the registry asked for', async () => {
  const { runtimeAfterMs } = await playQuirk('429 with Retry-After: 3600', { store: 'containerd', target: 'layer', time: 'always' });
  // The longest wait that a registry may ask for is 120 s; a timer of the quick clock may be a second early.
  expect(runtimeAfterMs[0]).toBeGreaterThan(119_000 - 1_000);
});

test.each(cells)('$name, $time, of the $target, into $store', async ({ name, ...cell }) => {
  const { lasting, most = 1.05 } = rows[name];
  const { isPulled, served, failure, said, wrongFiles } = await playQuirk(name, cell);
  const answer = cell.time === 'twice' ? 'pulled' : typeof lasting === 'function' ? lasting(cell) : lasting;
  if (answer === 'pulled') expect({ isPulled, failure }).toEqual({ isPulled: true, failure: '' });
  else expect({ isPulled, failure }).toEqual({ isPulled: failure === '', failure: expect.stringMatching(answer) });
  expect(served).toBeLessThanOrEqual(most);
  expect(wrongFiles).toEqual([]);
  for (const text of said) expect(text).not.toMatch(/[\p{Cc}\p{Cf}]|<\/?\w|w{300}/u);
});
