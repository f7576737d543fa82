import type { UpgradeStage } from '@flotilla/api/answers';
import { duration } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { LocationProvider, Route, Router } from 'preact-iso';
import type { World } from './connection/world.ts';
import { FleetPage } from './fleet/page.tsx';
import { PlanPage } from './plan/page.tsx';
import { RolloutPage } from './rollout/page.tsx';
import { SpokePage } from './spoke/page.tsx';
import { Steering } from './steer/steer.tsx';
import { Age, isByClock, turnTimes, useNow } from './words/age.tsx';
import { Mark, stageWord } from './words/marks.tsx';
import { safeText } from './words/safe-text.ts';
import { aheadMs } from './words/server-clock.ts';
import { useReadAt, useWorld, WorldContext } from './world-context.ts';

/** The console: a bar that says how live it is, and a view. */
export function App({ world }: { readonly world: World }): JSX.Element {
  return (
    <WorldContext.Provider value={world}>
      <LocationProvider>
        <a class="skip" href="#main">
          To the content
        </a>
        <TopBar />
        <Stale />
        <NoHub />
        <Router>
          <Route path="/" component={FleetPage} />
          <Route path="/upgrades/:namespace/:name" component={RolloutPage} />
          <Route path="/upgrades/:namespace/:name/plan" component={PlanPage} />
          <Route path="/spokes/:name" component={SpokePage} />
          <Route default component={Nowhere} />
        </Router>
        <Steering />
        <Changes />
      </LocationProvider>
    </WorldContext.Provider>
  );
}

function TopBar(): JSX.Element {
  const { server, viewer, rights, unseen } = useWorld();
  const lacks = rights.value ? [rights.value.upgrades, rights.value.spokes, rights.value.lease].filter((lack) => lack !== null) : [];
  return (
    <header class="bar-top">
      <a class="home" href="/">
        Flotilla
      </a>
      <span class="server">
        {server.value}
        {viewer.value !== '' && ` as ${safeText(viewer.value)}`}
      </span>
      <HubMark />
      <LinkMark />
      <ClockMark />
      <button
        type="button"
        class="quiet"
        aria-pressed={isByClock.value}
        title="Times of day instead of ages, everywhere"
        onClick={turnTimes}
      >
        {isByClock.value ? 'Clock' : 'Ages'}
      </button>
      {[...lacks, ...unseen.value].map((sentence) => (
        <p key={sentence} class="problem">
          {safeText(sentence)}
        </p>
      ))}
    </header>
  );
}

/** Whether a hub decides now. */
function HubMark(): JSX.Element | null {
  const hub = useWorld().hub.value;
  if (!hub) return null;
  if (hub.state === 'unseen')
    return <Mark shape="question" tone="late" word={`whether a hub leads is not known: ${safeText(hub.why ?? '')}`} />;
  if (hub.state === 'silent') return <Mark shape="cross" tone="bad" word="no hub leads" />;
  return (
    <span>
      <Mark shape="check" tone="good" word={`${safeText(hub.holder ?? 'a hub')} leads`} />, seen <Age at={hub.renewedAt} form="ago" />
    </span>
  );
}

/** Says in front of everything that nothing goes on. */
function NoHub(): JSX.Element | null {
  const hub = useWorld().hub.value;
  if (hub?.state !== 'silent') return null;
  return (
    <p class="banner">
      <span role="alert">No hub leads: no upgrade starts or goes on.</span> The last one was seen <Age at={hub.renewedAt} form="ago" />.
      Start the hub, or see its pods and its log.
    </p>
  );
}

/** A stream says that it lives every ten seconds. */
const STALE_S = 15;

/** Seconds of silence, once there are too many of them. */
function useSilence(): number | undefined {
  const { link, heardAt, openedAt } = useWorld();
  useNow();
  const silentS = Math.max((Date.now() - (heardAt.value ?? openedAt)) / 1000, 0);
  return link.value === 'lost' || silentS > STALE_S ? silentS : undefined;
}

function LinkMark(): JSX.Element {
  const { link } = useWorld();
  const silentS = useSilence();
  if (link.value === 'refused')
    return <Mark shape="cross" tone="bad" word="not let in any more: start the command again, or reload and log in" />;
  if (silentS !== undefined) return <Mark shape="question" tone="late" word={`not live: nothing heard for ${duration(silentS)}`} />;
  if (link.value === 'opening') return <Mark shape="ring" tone="faint" word="opening" />;
  return <Mark shape="check" tone="good" word="live" />;
}

/** A difference that nobody would take for rounding. */
const WRONG_MS = 10_000;

/** Says that the browser's clock is wrong: times on the page are not those beside it on the screen. */
function ClockMark(): JSX.Element | null {
  const ahead = aheadMs.value;
  if (Math.abs(ahead) < WRONG_MS) return null;
  const says = `this browser's clock is ${duration(Math.abs(ahead) / 1000)} ${ahead > 0 ? 'ahead' : 'behind'}: times here go by the server's`;
  return <Mark shape="question" tone="late" word={says} />;
}

/** Says once for all cells that the page is old. */
function Stale(): JSX.Element | null {
  const { link } = useWorld();
  const readAt = useReadAt();
  const silentS = useSilence();
  const isStale = silentS !== undefined || link.value === 'refused';
  useEffect(() => {
    document.body.classList.toggle('stale', isStale);
  }, [isStale]);
  const isSaid = isStale && readAt !== undefined;
  const fix =
    link.value === 'refused'
      ? 'Start flotilla console again and open the address that it prints, or reload and log in.'
      : 'The page tries again every second.';
  // An age in the status would be read out each second; a status that comes with its words may not be read out at all.
  return (
    <p class={isSaid ? 'banner stale-says' : 'hidden'}>
      <span role="status">{isSaid && `Everything below is old. ${fix}`}</span>
      {isSaid && (
        <>
          {' '}
          It is as it was <Age at={new Date(readAt).toISOString()} form="ago" />.
        </>
      )}
    </p>
  );
}

/** Between two announcements to those who listen. */
const ANNOUNCE_MS = 10_000;

/** Changes summed up for those who do not see them. */
function Changes(): JSX.Element {
  const { upgrades } = useWorld();
  const [said, setSaid] = useState('');
  useEffect(() => {
    const before = new Map<string, UpgradeStage>();
    const saying = setInterval(() => {
      const parts = upgrades.values().flatMap(({ key, stage, clusters }) => {
        const known = before.get(key);
        before.set(key, stage);
        const hasTurned = known !== undefined && known !== stage;
        if (!hasTurned && stage !== 'rolling-out' && stage !== 'pre-caching') return [];
        const counts = `${clusters.done} of ${clusters.total} done, ${clusters.failed} failed`;
        return [hasTurned ? `${key} is ${stageWord(stage)}: ${counts}` : `${key}: ${counts}`];
      });
      setSaid(parts.slice(0, 3).join('. '));
    }, ANNOUNCE_MS);
    return () => clearInterval(saying);
  }, [upgrades]);
  return (
    <p class="hidden" role="status" aria-live="polite">
      {said}
    </p>
  );
}

function Nowhere(): JSX.Element {
  return (
    <main id="main" class="page">
      <h1>There is nothing here</h1>
      <p>
        <a href="/">To the fleet</a>
      </p>
    </main>
  );
}
