import { ConfigMap, Event, Pod } from '@flotilla/api/core';
import { Boat } from './boats.ts';
import { type Question, question } from './question.ts';
import type { Transcript } from './transcript.ts';

const collection = (to: Transcript) => `/api/v1/namespaces/${to.namespace}/configmaps`;

async function fill(to: Transcript): Promise<void> {
  const labels = [{ team: 'x' }, { team: 'y' }, { team: 'x', lead: '' }, {}];
  for (const [index, each] of labels.entries())
    await to.silently((client) => client.create(ConfigMap, to.object(`m${3 - index}`, { data: { at: String(index) } }, { labels: each })));
}

const byLabels = (selector: string): Question =>
  question(`label selector ${selector}`, async (to) => {
    await fill(to);
    await to.names(ConfigMap, { labelSelector: selector });
  });

/** Lists, pages and selectors. */
export const LISTS: readonly Question[] = [
  question('a list is sorted by name', async (to) => {
    await fill(to);
    await to.names(ConfigMap);
  }),
  question('an empty list', async (to) => {
    await to.names(Boat);
    await to.names(ConfigMap, { namespace: 'nowhere' });
  }),
  question('items of a built-in kind have no type, those of a custom one have', async (to) => {
    await fill(to);
    await to.silently((client) => client.create(Boat, to.object('a', { spec: { sails: 1 } })));
    const list = async (path: string) => {
      const answer = (await to.silently((client) => client.request('GET', path))) as {
        kind: string;
        apiVersion: string;
        items: { kind?: string; apiVersion?: string }[];
      };
      to.answers.push({
        kind: answer.kind,
        apiVersion: answer.apiVersion,
        item: answer.items[0]?.kind ?? 'none',
        of: answer.items[0]?.apiVersion ?? 'none',
      });
    };
    await list(collection(to));
    await list(`/apis/test.flotilla.io/v1/namespaces/${to.namespace}/boats`);
  }),
  question('a page goes on where the last one ended, with what was there then', async (to) => {
    await fill(to);
    const first = (await to.silently((client) => client.request('GET', `${collection(to)}?limit=2`))) as Page;
    to.answers.push(shown(first));
    await to.silently((client) => client.create(ConfigMap, to.object('m9')));
    await to.silently((client) => client.delete(ConfigMap, to.ref('m3')));
    const second = (await to.silently((client) =>
      client.request('GET', `${collection(to)}?limit=2&continue=${first.metadata.continue}`),
    )) as Page;
    to.answers.push({ ...shown(second), isSameVersion: first.metadata.resourceVersion === second.metadata.resourceVersion });
  }),
  question('a page of selected objects does not say what remains', async (to) => {
    await fill(to);
    const page = (await to.silently((client) => client.request('GET', `${collection(to)}?limit=1&labelSelector=team%3Dx`))) as Page;
    to.answers.push(shown(page));
  }),
  question('pages together are the list', async (to) => {
    await fill(to);
    await to.names(ConfigMap, { pageSize: 1 });
    await to.names(ConfigMap, { pageSize: 3, labelSelector: 'team' });
  }),
  question('a token that is none', async (to) => void (await to.request('GET', `${collection(to)}?limit=1&continue=x`))),
  ...['team=x', 'team==y', 'team!=x', 'team', '!team', 'lead=', 'team in (x,y)', 'team notin (x)', 'team=x,!lead', 'none=z'].map(byLabels),
  question('a field selector by name', async (to) => {
    await fill(to);
    await to.names(ConfigMap, { fieldSelector: 'metadata.name=m1' });
    await to.names(ConfigMap, { fieldSelector: 'metadata.name!=m1' });
    await to.names(ConfigMap, { fieldSelector: `metadata.namespace=${to.namespace},metadata.name=m2` });
  }),
  question('a field that does not select', async (to) => {
    await to.names(ConfigMap, { fieldSelector: 'data.k=v' });
    await to.names(Boat, { fieldSelector: 'spec.sails=1' });
  }),
  question('pods of a node, and those in a phase', async (to) => {
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await to.silently((client) => client.create(Pod, to.object('a', { spec: { ...spec, nodeName: 'n1' } })));
    await to.silently((client) => client.create(Pod, to.object('b', { spec })));
    await to.names(Pod, { fieldSelector: 'spec.nodeName=n1' });
    await to.names(Pod, { fieldSelector: 'spec.nodeName!=n1' });
    await to.names(Pod, { fieldSelector: 'status.phase=Pending' });
    await to.names(Pod, { fieldSelector: 'status.phase!=Pending' });
  }),
  question('events about an object', async (to) => {
    const event = (name: string, regarding: string) =>
      to.silently((client) =>
        client.create(Event, {
          metadata: { name, namespace: to.namespace },
          regarding: { kind: 'Boat', name: regarding, namespace: to.namespace },
          eventTime: '2026-01-01T00:00:00.000000Z',
          reportingController: 'test.flotilla.io/c',
          reportingInstance: 'i',
          action: 'Act',
          reason: 'Reason',
          type: 'Normal',
          note: 'n',
        } as never),
      );
    await event('e1', 'x');
    await event('e2', 'y');
    await to.names(Event, { fieldSelector: 'regarding.name=x' });
  }),
];

interface Page {
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number; readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const shown = ({ metadata, items }: Page) => ({
  names: items.map((item) => item.metadata.name),
  goesOn: metadata.continue !== undefined && metadata.continue !== '',
  remaining: metadata.remainingItemCount ?? 'unsaid',
});
