//go:build oldest

package main

import (
	"errors"
	"strings"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/redfish"
)

type (
	ComputerSystem = redfish.ComputerSystem
	EventService   = redfish.EventService
	ManagerAccount = redfish.ManagerAccount
	VirtualMedia   = redfish.VirtualMedia
)

// With each PATCH and POST of an object, this version sends If-Match with the ETag that it read with the object.
const sendsIfMatch = true

func readTasks(service *gofish.Service) error {
	return one(service.Tasks())
}

func bootFromCdOnce(system *ComputerSystem) error {
	return system.SetBoot(redfish.Boot{
		BootSourceOverrideTarget:  redfish.CdBootSourceOverrideTarget,
		BootSourceOverrideEnabled: redfish.OnceBootSourceOverrideEnabled,
	})
}

func reset(system *ComputerSystem, kind string) error {
	return system.Reset(redfish.ResetType(kind))
}

func insert(drive *VirtualMedia, image string) error {
	return drive.InsertMedia(image, true, true)
}

func eject(drive *VirtualMedia) error {
	return drive.EjectMedia()
}

func subscribe(events *EventService, destination string) (string, error) {
	return events.CreateEventSubscriptionInstance(destination, nil, nil, nil, redfish.RedfishEventDestinationProtocol, "gofish", "", nil)
}

// This version sends the text "TESTING123" as EventGroupId. In DMTF's schema, EventGroupId is a number. So the
// service must reject the event.
func submitTestEvent(events *EventService) error {
	if err := events.SubmitTestEvent("hello"); err == nil || !strings.Contains(err.Error(), "EventGroupId") {
		return errors.New("the service did not reject EventGroupId")
	}
	return nil
}
