import type { PayloadStatusAnswer } from '@flotilla/api/answers';
import { age, duration, figure } from '@flotilla/api/units';
import { safeText } from '../terminal/safe-text.ts';
import { type Screen, tinted } from '../terminal/screen.ts';
import { cut, table } from '../terminal/table.ts';

const colors = { applied: 'good', applying: 'late', failing: 'bad', refused: 'bad', unseen: 'bad' } as const;

/** The answer for a person. @param now milliseconds since the epoch */
export function payloadStatusText(answer: PayloadStatusAnswer, screen: Pick<Screen, 'hasColor' | 'width'>, now: number): string {
  const { stage, version, from, startedAt, completedAt, level, says, since, waits, secondsLeft, notes } = answer;
  const route = [from, version].filter((each) => each !== undefined).join(' -> ');
  const at = stage === 'applied' ? completedAt : (since ?? startedAt);
  const head = cut(
    safeText(`${route === '' ? 'no release' : route}: ${stage}${at === undefined ? '' : `, since ${age(at, now)}`}`),
    screen.width,
  );
  const percent = level && level.total > 0 ? ` (${Math.floor((100 * level.done) / level.total)} %)` : '';
  const ends =
    stage === 'applying' || stage === 'failing'
      ? `ends in ${figure(secondsLeft, duration)}${secondsLeft.why ? `: ${secondsLeft.why}` : ''}`
      : undefined;
  const lines = [says, level && `${level.done} of ${level.total} manifests${percent}`, ends, ...notes].flatMap((line) =>
    line ? [line] : [],
  );
  const rows = waits.map((wait) => [wait.operator, age(wait.since, now), wait.says]);
  return [
    tinted(screen, colors[stage], head),
    ...lines.map((line) => cut(`  ${safeText(line)}`, screen.width)),
    ...(rows.length > 0 ? ['', table(['WAITING FOR', 'SINCE', 'WHAT'], rows, { width: screen.width, indent: '  ' })] : []),
  ].join('\n');
}
