import { hasEnded, type Rights, type UpgradeRow } from '@flotilla/api/answers';
import { bytes, duration, endFigure, figure } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { planPath, whyPath } from '../address.ts';
import { WindowText } from '../fleet/upgrades.tsx';
import type { Offer } from '../steer/offer.ts';
import { Steer } from '../steer/steer.tsx';
import { Age, AgeRead } from '../words/age.tsx';
import { Bar } from '../words/bar.tsx';
import { Fact } from '../words/fact.tsx';
import { EditsMark, HeldMark, StageMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useReadAt, useWorld } from '../world-context.ts';
import { Track } from './track.tsx';

interface HeadProps {
  readonly row: UpgradeRow;
  readonly rights: Rights | undefined;
}

/** Changes that make sense for an upgrade as it is. @param isLed a hub takes up at once what is asked for */
function offersOf({ key: of, stage, paused, clusters, cached }: UpgradeRow, rights: Rights | undefined, isLed: boolean): Offer[] {
  const lack = rights?.steerUpgrades ?? null;
  const isOver = hasEnded({ stage });
  const failed = clusters.failed + (isOver ? 0 : (cached?.failed ?? 0));
  return [
    ...(paused !== null ? [{ action: 'resume', of, lack } as const] : []),
    // Without a hub the end of a pause may be a wish, which a pause takes back.
    ...(isOver || (paused !== null && isLed) ? [] : [{ action: 'pause', of, lack } as const]),
    ...(failed > 0 && stage !== 'deleting' ? [{ action: 'retry', of, lack, label: 'Retry failed' } as const] : []),
    ...(isOver ? [] : [{ action: 'window', of, lack } as const]),
  ];
}

/** An upgrade: how far it is, and changes that somebody may make. */
export function Head({ row, rights }: HeadProps): JSX.Element {
  const { key, stage, says, edits, paused, window, clusters, cached, ends, writtenAt } = row;
  const readAt = useReadAt();
  const isLed = useWorld().hub.value?.state === 'leads';
  return (
    <>
      <header class="title">
        <h1>{key}</h1>
        <StageMark stage={stage} />
        <EditsMark edits={edits} />
        {paused !== null && <HeldMark word={`paused: ${safeText(paused)}`} />}
        <div class="does">
          <a class="button" href={planPath(key)}>
            Plan
          </a>
          <Steer offers={offersOf(row, rights, isLed)} />
        </div>
      </header>
      <Track row={row} />
      <p class="says">
        {safeText(says)} {edits && `${safeText(edits.says)} `}
        <a href={whyPath(key)} aria-label={`Why ${key}`}>
          Why?
        </a>
      </p>
      <dl class="facts">
        <Fact name="Done">
          <Bar label="done" done={clusters.done} failed={clusters.failed} of={clusters.total} /> {clusters.inBatch} in batch,{' '}
          {clusters.failed} failed, {clusters.left} to come
        </Fact>
        {cached && (
          <Fact name="Cached">
            <Bar label="cached" done={cached.done} failed={cached.failed} of={cached.of} /> {cached.pulling} pulling, {cached.failed} failed
            {cached.bytesTotal.value !== undefined && `, ${figure(cached.bytesDone, bytes)} of ${figure(cached.bytesTotal, bytes)}`}
            {cached.pulling > 0 && cached.bytesPerSecond.value !== undefined && `, ${figure(cached.bytesPerSecond, bytes)}/s`}
            {cached.pulling > 0 && cached.secondsLeft.value !== undefined && `, ${figure(cached.secondsLeft, duration)} left`}
          </Fact>
        )}
        <Fact name="Window">
          <WindowText {...window} />
        </Fact>
        <Fact name="Ends in">
          {ends ? endFigure(ends.seconds) : '–'}
          {ends?.fitsWindow === false && ', does not fit the window'}
          {ends?.fitsWindow === true && ', fits the window'}
          {ends?.seconds.certainty === 'at-most' && ` (${safeText(ends.seconds.why ?? '')})`}
          {ends?.latestAt !== undefined && ends.seconds.certainty !== 'at-most' && !hasEnded(row) && (
            <>
              {' '}
              (times out <Age at={ends.latestAt} form="in" />)
            </>
          )}
        </Fact>
        <Fact name="Written by the hub">
          <AgeRead at={writtenAt} readAt={readAt} />
        </Fact>
      </dl>
    </>
  );
}
