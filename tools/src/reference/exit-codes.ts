import { PullerExit } from '@flotilla/api/ran';
import { page, table } from './markdown.ts';

/** Meaning of each exit code of the puller. */
const PULLER: Readonly<Record<keyof typeof PullerExit, string>> = {
  done: 'every image is in the store',
  internal: 'anything else, such as no runtime at the socket',
  badSpec: 'bad spec: a key, a pattern, a catalogue, a release image or a variable that cannot be used',
  registryRefused: 'the registry refused or does not answer: the list cannot be built, or no image could be pulled',
  noSpace: 'not enough space, before, in the middle of, or after the pull',
  partlyDone: 'some images are there, others could not be pulled; or another node is not filled',
  missing: 'a proof found less on a node than was cached, or no record of it',
  absent: 'each node that came has every image, but others stayed away past their patience',
  interrupted: 'stopped by SIGTERM or SIGINT (within 5 s); what is pulled stays',
};

const programs: readonly (readonly [string, string])[] = [
  ['0', 'stopped by SIGTERM or SIGINT'],
  ['1', 'an error that the program cannot go on with, a lost lease, or a stop that took longer than 25 s; standard error says which'],
  ['2', 'a wrong option: every one is named with its variable, its value and what is expected'],
];
const commands: readonly (readonly [string, string])[] = [
  ['0', 'yes: it is so, or it is done'],
  ['1', 'could not find out: no server, no right, no such object; standard error says why, and the next step'],
  ['2', 'wrong arguments'],
  ['3', 'the answer is no: failed, done in part, refused, declined, no longer possible; or there are errors'],
  ['4', 'the time is up, or no hub has taken the change up in time'],
];

const codes = (rows: readonly (readonly [string, string])[]): string => table(['code', 'meaning'], rows);

/** `docs/reference/exit-codes.md`. */
export const exitCodesPage = (): string =>
  page(
    'Exit codes',
    `## hub, spoke-agent, upgrade-operator, version-operator\n\n${codes(programs)}`,
    `## flotilla\n\n${codes(commands)}`,
    `## image-puller\n\nThe container of Job \`pre-cache\`.\n\n${codes(Object.entries(PullerExit).map(([name, value]) => [String(value), name in PULLER ? meaningOf(name) : '']))}`,
  );

const meaningOf = (name: string): string => Object.entries(PULLER).find(([each]) => each === name)?.[1] ?? '';
