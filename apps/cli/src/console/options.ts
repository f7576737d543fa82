import { z } from 'zod';
import { access, file, hub, namespace } from '../hub/options.ts';
import { option, text } from '../option.ts';
import { registry } from '../registry/options.ts';

/** Headers in which a proxy in front may give the token of whoever asks. */
export const PROXY_HEADERS = ['authorization', 'x-forwarded-access-token'] as const;

const path = text('give a path');
const Listen = z.string().regex(/^[\w.:[\]-]+:\d{1,5}$/, { error: 'must be an address and a port, as in 0.0.0.0:8443' });
const Count = z.coerce.number({ error: 'must be a number' }).int().min(1).max(1_000);
const Origin = z.string().refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? '') && URL.parse(text)?.origin === text, {
  error: 'must be an address without a path, as in https://console.example.com',
});

/** Options of `console`; without `login` it is for one person. */
export const ConsoleOptions = z.object({
  namespace: option('<namespace>', namespace.namespace, 'namespace of the ClusterGroupUpgrades (default all)', 'n'),
  registriesConf: option('<file>', file, "mirrors, in the containers' registries.conf, for images of plans"),
  ...registry,
  ...hub,
  ...access,
  login: option(
    '<way>',
    z.enum(['token', ...PROXY_HEADERS], { error: `must be token, ${PROXY_HEADERS.join(' or ')}` }).optional(),
    `serve several people, each with a token of the API server: token (they paste it), or the header in which a proxy in front sends it: ${PROXY_HEADERS.join(', ')}`,
  ),
  address: option('<url...>', z.array(Origin).optional(), 'with --login: where people open the page, as in https://console.example.com'),
  listen: option('<address>', Listen.default('127.0.0.1:8080'), 'with --login: address and port to listen on'),
  tlsCert: option('<file>', path, 'with --login: certificate in PEM, read again when it is renewed'),
  tlsKey: option('<file>', path, 'with --login: its key'),
  server: option(
    '<url>',
    z.url({ error: 'must be the URL of the API server' }).default('https://kubernetes.default.svc'),
    'with --login: the API server',
  ),
  certificateAuthority: option('<file>', path, "with --login: PEM of the API server's authority (default the system's)"),
  viewers: option('<n>', Count.default(50), 'with --login: people who look at the same time'),
});
export type ConsoleOptions = z.output<typeof ConsoleOptions>;
