import { ApiError, RuntimeErrorCode } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { nextStep } from './complain.ts';

const NOT_ONE = 'not an API server: look at clusters[].cluster.server of the kubeconfig, and at a proxy on the way';

describe('a server that cannot be used is told with what to look at', () => {
  const untrusted = Object.assign(
    new Error('self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca'),
    {
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    },
  );
  test.each([
    {
      name: 'a web page in place of a refusal',
      code: RuntimeErrorCode.forbidden,
      details: { status: 403, serverMessage: 'the answer is a web page: Log in', isForeign: true },
      says: `GET /api at https://hub: 403: the answer is a web page: Log in: ${NOT_ONE}`,
    },
    {
      name: 'a web page in place of an answer',
      code: RuntimeErrorCode.badAnswer,
      details: { serverMessage: 'the answer is a web page', isForeign: true },
      says: `GET /api at https://hub: the answer is a web page: ${NOT_ONE}`,
    },
    {
      name: 'a certificate that is not trusted',
      code: RuntimeErrorCode.unreachable,
      details: { serverMessage: 'self-signed certificate' },
      cause: untrusted,
      says: 'GET /api at https://hub: self-signed certificate: the server is not trusted: put the PEM of its authority into certificate-authority of the kubeconfig',
    },
    {
      name: 'no TLS',
      code: RuntimeErrorCode.unreachable,
      details: { serverMessage: 'the server does not speak TLS there', isForeign: true },
      says: `GET /api at https://hub: the server does not speak TLS there: ${NOT_ONE}`,
    },
    {
      name: 'plain HTTP to a server of HTTPS',
      code: RuntimeErrorCode.refused,
      details: { status: 400, serverMessage: 'Client sent an HTTP request to an HTTPS server.' },
      says: 'GET /api at https://hub: 400: Client sent an HTTP request to an HTTPS server.: use https in clusters[].cluster.server of the kubeconfig',
    },
  ])('$name', ({ code, details, cause, says }) => {
    expect(nextStep(new ApiError(code, 'GET /api at https://hub', { status: 0, reason: '', ...details }, { cause }))).toBe(says);
  });
});
