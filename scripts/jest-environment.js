/**
 * The environment of all tests: jest's environment for Node, with fast globals.
 *
 * In jest's own context, each use of a global (`Buffer`, `JSON`, `Map`) calls a JavaScript proxy.
 * There, the tests of the JSON scanner spend 40 % of their CPU time on these calls. The context of this
 * file has a plain global object. Each test file still has its own context, as in jest's environment.
 */
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

export default class FastGlobals extends TestEnvironment {
  constructor(config, context) {
    // jest's constructor calls `vm.createContext` once, and has no option for the argument of this call.
    const { createContext } = vm;
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }
}
