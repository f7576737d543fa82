import { ManifestAnnotation } from '@flotilla/api/config';
import { isMap, parseDocument } from 'yaml';
import { type Json, objectAt } from '../json-values.ts';
import type { BuildContext } from './builder.ts';

/** Kinds of configuration files that take the cluster's TLS profile. */
const CONFIGURATIONS = new Set(['operator.openshift.io/v1alpha1/GenericOperatorConfig', 'config.openshift.io/v1/GenericControllerConfig']);
/** A larger one is left as it is. */
const MAX_CHARACTERS = 64 * 1024;

/** A ConfigMap with the cluster's TLS profile in its configuration files where it asks for it (spec/cvo 3.7); their format stays. */
export function injectTls(manifest: Json, { tls }: BuildContext): Json {
  if (objectAt(objectAt(manifest.metadata).annotations)[ManifestAnnotation.injectTls] !== 'true' || !tls) return manifest;
  const data = Object.entries(objectAt(manifest.data)).map(([key, text]) => [
    key,
    typeof text === 'string' ? withProfile(text, tls) : text,
  ]);
  return { ...manifest, data: Object.fromEntries(data) };
}

function withProfile(text: string, { minTLSVersion, cipherSuites }: NonNullable<BuildContext['tls']>): string {
  if (text.length > MAX_CHARACTERS || !/Generic(Operator|Controller)Config/.test(text)) return text;
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isMap(document.contents)) return text;
  if (!CONFIGURATIONS.has(`${String(document.get('apiVersion'))}/${String(document.get('kind'))}`)) return text;
  const put = (field: string, value: unknown, isThere: boolean): void => {
    if (isThere) document.setIn(['servingInfo', field], value);
    else document.deleteIn(['servingInfo', field]);
  };
  put('minTLSVersion', minTLSVersion, minTLSVersion !== '');
  put('cipherSuites', document.createNode([...cipherSuites]), cipherSuites.length > 0);
  return document.toString({ lineWidth: 0 });
}

const MODERN = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
const INTERMEDIATE = [
  ...MODERN,
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
];
const OLD = [
  ...INTERMEDIATE,
  'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA',
  'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA',
  'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_RSA_WITH_AES_128_CBC_SHA256',
  'TLS_RSA_WITH_AES_128_CBC_SHA',
  'TLS_RSA_WITH_AES_256_CBC_SHA',
  'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
];

/** Names that profiles use, those of OpenSSL, by the names that programs use. */
const OPENSSL_NAMES: ReadonlyMap<string, string> = new Map(
  OLD.map((name) => [
    name.startsWith('TLS_AES') || name.startsWith('TLS_CHACHA')
      ? name
      : name
          .replace('TLS_RSA_WITH_3DES_EDE_CBC_SHA', 'DES-CBC3-SHA')
          .replace(/^TLS_(RSA_WITH_)?/, '')
          .replace('_WITH', '')
          .replaceAll('_', '-')
          .replace('AES-', 'AES')
          .replace('CBC-', '')
          .replace('CHACHA20-POLY1305-SHA256', 'CHACHA20-POLY1305'),
    name,
  ]),
);

/** A TLS profile of `APIServer/cluster`; absent and unheard of count as `Intermediate`. */
interface TlsProfile {
  readonly type: string;
  readonly custom?: { readonly ciphers: readonly string[]; readonly minTLSVersion: string } | null;
}

/** Resolves a profile; ciphers that no program of today knows are left out. */
export function tlsOf(profile: TlsProfile | null | undefined): NonNullable<BuildContext['tls']> {
  switch (profile?.type ?? '') {
    case 'Old':
      return { minTLSVersion: 'VersionTLS10', cipherSuites: OLD };
    case 'Modern':
      return { minTLSVersion: 'VersionTLS13', cipherSuites: MODERN };
    case 'Custom':
      return {
        minTLSVersion: profile?.custom?.minTLSVersion ?? '',
        cipherSuites: (profile?.custom?.ciphers ?? []).flatMap((name) => OPENSSL_NAMES.get(name) ?? []),
      };
    default:
      return { minTLSVersion: 'VersionTLS12', cipherSuites: INTERMEDIATE };
  }
}
