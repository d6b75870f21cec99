import { expect, it } from '@jest/globals';
import { createMetrics } from './metrics.js';

it('the metrics count WebSockets before and after the first scrape', async () => {
  const metrics = createMetrics({ ping: () => Promise.resolve() });
  const lines = async () => {
    const { text } = await metrics.expose();
    return text.split('\n').filter((line) => line.startsWith('bmc_web_socket'));
  };
  const route = '/console';
  metrics.webSockets.opened(route);
  metrics.webSockets.opened(route);
  metrics.webSockets.ended({ route, code: 1000, bytesIn: 3, bytesOut: 5 });
  expect(await lines()).toEqual([
    'bmc_web_sockets_open{route="/console"} 1',
    'bmc_web_sockets_ended_total{route="/console",code="1000"} 1',
    'bmc_web_socket_bytes_total{route="/console",direction="received"} 3',
    'bmc_web_socket_bytes_total{route="/console",direction="sent"} 5',
  ]);

  metrics.webSockets.ended({ route, code: 4999, bytesIn: 1, bytesOut: 0 });
  expect(await lines()).toEqual([
    'bmc_web_sockets_open{route="/console"} 0',
    'bmc_web_sockets_ended_total{route="/console",code="1000"} 1',
    'bmc_web_sockets_ended_total{route="/console",code="other"} 1',
    'bmc_web_socket_bytes_total{route="/console",direction="received"} 4',
    'bmc_web_socket_bytes_total{route="/console",direction="sent"} 5',
  ]);
  metrics.clear();
});
