// Walks a BMC with gofish and prints a line per step: "PASS name" or "FAIL name: why". Ends with
// status 1 if a step failed.
//
// The variables of docs/guides/clients.md name the BMC and the machine. With --basic, each request
// has the password, and gofish creates no session. api_redfish.go and api_schemas.go contain the
// differences between versions of gofish.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stmcginnis/gofish"
)

var failed bool

// attempt runs a step. gofish returns nil for a service that the BMC does not have, so the next call on it panics.
func attempt(run func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("it panicked: %v", fault)
		}
	}()
	return run()
}

func step(name string, run func() error) {
	if err := attempt(run); err != nil {
		failed = true
		fmt.Printf("FAIL %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Printf("PASS %s\n", name)
}

// has returns the error, or an error of its own if the list is empty.
func has[T any](members []T, err error) error {
	if err == nil && len(members) == 0 {
		return errors.New("it has no members")
	}
	return err
}

// one returns only the error of a call.
func one(_ any, err error) error { return err }

// firstOf makes the calls in order until one fails, and returns its error.
func firstOf(calls ...func() error) error {
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

func until(what string, holds func() (bool, error)) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if done, err := holds(); done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within 2 minutes", what)
		}
	}
}

func systemOf(client *gofish.APIClient) (*ComputerSystem, error) {
	systems, err := client.GetService().Systems()
	if err != nil {
		return nil, err
	}
	for _, system := range systems {
		if system.ODataID == os.Getenv("SYSTEM") {
			return system, nil
		}
	}
	return nil, errors.New("the machine is not among the systems")
}

func waitForPower(client *gofish.APIClient, state string) error {
	return until("the power state is "+state, func() (bool, error) {
		system, err := systemOf(client)
		return err == nil && string(system.PowerState) == state, err
	})
}

func walkServices(client *gofish.APIClient, basic bool) {
	service := client.GetService()
	step("chassis", func() error { return has(service.Chassis()) })
	step("registries", func() error { return has(service.Registries()) })
	step("account-service", func() error {
		accounts, err := service.AccountService()
		if err != nil {
			return err
		}
		return firstOf(
			func() error { return has(accounts.Accounts()) },
			func() error { return has(accounts.Roles()) })
	})
	step("session-service", func() error {
		sessions, err := service.SessionService()
		if err != nil {
			return err
		}
		if basic {
			return one(sessions.Sessions())
		}
		return has(sessions.Sessions())
	})
	step("telemetry-service", func() error {
		telemetry, err := service.TelemetryService()
		if err != nil {
			return err
		}
		return firstOf(
			func() error { return has(telemetry.MetricDefinitions()) },
			func() error { return has(telemetry.MetricReports()) })
	})
	step("update-service", func() error { return one(service.UpdateService()) })
	step("tasks", func() error { return readTasks(service) })
}

func walkSystem(system *ComputerSystem) {
	step("processors", func() error { return has(system.Processors()) })
	step("memory", func() error { return has(system.Memory()) })
	step("ethernet-interfaces", func() error { return has(system.EthernetInterfaces()) })
	step("storage", func() error { return has(system.Storage()) })
	step("bios", func() error { return one(system.Bios()) })
	step("boot-options", func() error { return has(system.BootOptions()) })
	step("logs", func() error {
		services, err := system.LogServices()
		for _, service := range services {
			if err == nil {
				_, err = service.Entries()
			}
		}
		return err
	})
}

// The first action changes the object. If this version of gofish sends ETags, the second action has the old ETag.
func changeSystem(client *gofish.APIClient, system *ComputerSystem) {
	step("boot-from-the-CD-once", func() error { return bootFromCdOnce(system) })
	step("switch-on", func() error {
		return firstOf(func() error { return reset(system, "On") }, func() error { return waitForPower(client, "On") })
	})
	step("a-second-action-on-the-same-object", func() error {
		return firstOf(func() error { return reset(system, "ForceOff") }, func() error { return waitForPower(client, "Off") })
	})
	if sendsIfMatch {
		step("refuses-a-stale-change", func() error {
			// Without another change, the system may look as it did when it was read.
			current, err := systemOf(client)
			if err != nil {
				return err
			}
			current.AssetTag = "changed meanwhile"
			if err := current.Update(); err != nil {
				return err
			}
			system.AssetTag = "stale"
			if err := system.Update(); err == nil || !strings.Contains(err.Error(), "412") {
				return fmt.Errorf("it was answered with %v, not with 412", err)
			}
			return nil
		})
	}
	step("set-the-asset-tag", func() error {
		fresh, err := systemOf(client)
		if err != nil {
			return err
		}
		fresh.AssetTag = "rack-1-slot-7"
		return fresh.Update()
	})
}

func changeMedia(client *gofish.APIClient) {
	drives := func() ([]*VirtualMedia, error) {
		managers, err := client.GetService().Managers()
		if err != nil {
			return nil, err
		}
		for _, manager := range managers {
			if manager.ODataID == os.Getenv("MANAGER") {
				return manager.VirtualMedia()
			}
		}
		return nil, errors.New("the machine's manager is not among the managers")
	}
	step("insert-and-eject", func() error {
		all, err := drives()
		if err != nil {
			return err
		}
		for _, drive := range all {
			if drive.ID != "Cd" {
				continue
			}
			return firstOf(
				func() error { return insert(drive, os.Getenv("IMAGE")) },
				func() error { return eject(drive) },
				func() error { return insert(drive, os.Getenv("IMAGE")) },
				func() error { return eject(drive) })
		}
		return errors.New("there is no drive Cd")
	})
}

func changeAccounts(client *gofish.APIClient) {
	const name = "gofish-guest"
	find := func() (*ManagerAccount, error) {
		accounts, err := client.GetService().AccountService()
		if err != nil {
			return nil, err
		}
		members, err := accounts.Accounts()
		if err != nil {
			return nil, err
		}
		for _, account := range members {
			if account.UserName == name {
				return account, nil
			}
		}
		return nil, errors.New("the account is not among the accounts")
	}
	step("create-an-account", func() error {
		accounts, err := client.GetService().AccountService()
		if err != nil {
			return err
		}
		return one(accounts.CreateAccount(name, "Guest-password-1", "ReadOnly"))
	})
	step("change-it", func() error {
		account, err := find()
		if err != nil {
			return err
		}
		account.RoleID = "Operator"
		return account.Update()
	})
	step("delete-it", func() error {
		account, err := find()
		if err != nil {
			return err
		}
		answer, err := client.Delete(account.ODataID)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
}

func changeEvents(client *gofish.APIClient) {
	var events *EventService
	var uri string
	step("subscribe", func() (err error) {
		if events, err = client.GetService().EventService(); err != nil {
			return err
		}
		uri, err = subscribe(events, "http://127.0.0.1:9/gofish")
		return err
	})
	if uri == "" {
		return
	}
	step("submit-a-test-event", func() error { return submitTestEvent(events) })
	step("unsubscribe", func() error { return events.DeleteEventSubscription(uri) })
}

// logsIn tries a login and a request, because Basic authentication has no login of its own.
func logsIn(config gofish.ClientConfig) (*gofish.APIClient, error) {
	client, err := gofish.Connect(config)
	if err != nil {
		return nil, err
	}
	return client, one(client.GetService().Systems())
}

func refuses(config gofish.ClientConfig) error {
	config.Password += " wrong"
	if _, err := logsIn(config); err == nil || !strings.Contains(err.Error(), "401") {
		return fmt.Errorf("it was answered with %v, not with 401", err)
	}
	return nil
}

func main() {
	basic := flag.Bool("basic", false, "send the password with each request")
	flag.Parse()
	config := gofish.ClientConfig{
		Endpoint: os.Getenv("BMC"), Username: os.Getenv("BMC_USER"), Password: os.Getenv("BMC_PASSWORD"), Insecure: true,
		BasicAuth: *basic,
	}
	step("refuses-a-wrong-password", func() error { return refuses(config) })
	client, err := logsIn(config)
	step("login", func() error { return err })
	if err != nil {
		os.Exit(1)
	}
	walkServices(client, *basic)
	system, err := systemOf(client)
	step("systems", func() error { return err })
	if err == nil {
		walkSystem(system)
		changeSystem(client, system)
		changeMedia(client)
	}
	changeAccounts(client)
	changeEvents(client)
	// Without a session, there is no logout.
	if !*basic {
		client.Logout()
		step("is-logged-out", func() error {
			if _, err := client.GetService().Systems(); err == nil {
				return errors.New("the systems can still be read")
			}
			return nil
		})
	}
	if failed {
		os.Exit(1)
	}
}
