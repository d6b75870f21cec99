# shellcheck shell=bash
# Starts a libvirtd with two guests, or an OpenStack with a server, and a daemon, for
# scripts/clients and scripts/conformance without BASE_URL. These scripts source this file after setup.sh,
# and set `work` before.
: "${work:?is set by scripts/clients}"
# shellcheck source=scripts/start.d/private-libvirtd.sh
. scripts/start.d/private-libvirtd.sh
# shellcheck source=scripts/start.d/demo-guests.sh
. scripts/start.d/demo-guests.sh
# The state of this libvirtd is temporary, and not shared with scripts/start.
state=$work/libvirt

lab_daemon=
lab_cloud=
# More options of scripts/openstack-lab.
lab_cloud_options=()
lab_server=
lab_network_image=ipxe-client
lab_user="admin"
lab_url=
lab_port=
lab_password_file=$work/password

# Makes images to boot and to insert. $1: a folder.
make_images() {
  mkdir -p "$1"
  cp "$(scripts/guests/build-guest --kind iso --grub --label RESCUE)" "$1/boot.iso"
  cp "$(scripts/guests/build-guest --kind iso --grub --label OTHER)" "$1/other.iso"
}

# Defines a guest. $1: name, $2: domain type, $3: the element <os>. Ironic needs 1 GiB of memory and a disk of
# more than 4 GiB. The CD drive is on SCSI, because the guest's system has no SATA driver.
lab_guest() {
  local disk=$work/pool/$1.img
  cp "$(scripts/guests/build-guest --kind disk --linux)" "$disk"
  truncate --size 8G "$disk"
  virsh_quiet define --validate /dev/stdin <<END
<domain type='$2'>
  <name>$1</name>
  <memory unit='MiB'>1024</memory>
  <vcpu>2</vcpu>
  $3
  <features><acpi/></features>
  <on_reboot>restart</on_reboot>
  <devices>
$(guest_devices "$disk")
    <serial type='pty'>
      <log file='$work/consoles/$1.log' append='on'/>
    </serial>
    <video><model type='vga'/></video>
  </devices>
</domain>
END
}

start_guests() {
  local type
  mkdir -p "$work"/{pool,consoles}
  # As root without namespaces, libvirtd runs as another account, which must reach the files in this folder.
  chmod 755 "$work"
  start_private_libvirtd 'Starting a private libvirtd'
  if [ "$(id -u)" = 0 ] && ! can_make_namespaces; then chown 65534:65534 "$work"/{pool,consoles}; fi
  type=$(demo_domain_type)
  virsh_quiet pool-create-as clients dir --target "$work/pool" >/dev/null
  say "Two guests (virtualization: $type)"
  lab_guest bios "$type" "<os><type machine='q35'>hvm</type><boot dev='hd'/></os>"
  # Without the two features, libvirt selects the firmware with Microsoft's keys, which boots
  # nothing unsigned. Without stateless='no', newer libvirt selects the firmware for AMD SEV, which
  # boots no ordinary disk.
  lab_guest uefi "$type" "<os firmware='efi'><type machine='q35'>hvm</type><firmware><feature enabled='no' name='secure-boot'/>
    <feature enabled='no' name='enrolled-keys'/></firmware><loader stateless='no'/><boot dev='hd'/></os>"
}

# Starts an OpenStack, or uses the one whose clouds.yaml is at the path RACKLESS_OPENSTACK_LAB. Creates a
# server there, whose id becomes `lab_server`, and the image $lab_network_image.
start_cloud() {
  OS_CLIENT_CONFIG_FILE=${RACKLESS_OPENSTACK_LAB:-}
  if [ -z "$OS_CLIENT_CONFIG_FILE" ]; then
    # QEMU may run as another account, which must reach the files in this folder.
    chmod 755 "$work"
    start_private_libvirtd 'Starting a private libvirtd'
    lab_cloud=$work/openstack
    # Uses random ports, because other tests may run an OpenStack at the same time. Linux selects higher ports
    # for outgoing connections.
    OS_CLIENT_CONFIG_FILE=$(scripts/openstack-lab up --dir "$lab_cloud" --port $((20000 + 10 * (RANDOM % 1000))) \
      --libvirt-uri "$libvirt_uri" --shutdown-seconds 2 "${lab_cloud_options[@]}")
  fi
  export OS_CLIENT_CONFIG_FILE
  say "A server (its guest has no hardware acceleration)"
  cloud_server image "$lab_network_image" iso /usr/lib/ipxe/ipxe.iso hw_rescue_device=cdrom hw_rescue_bus=sata
  lab_server=$(cloud_server create "$(scripts/guests/build-guest --kind disk --linux)" "$work/consoles")
}

cloud_server() { /usr/bin/python3 -B scripts/clients.d/cloud_server.py "$OS_CLIENT_CONFIG_FILE" "$@"; }

# Creates the password file and the certificate of a daemon, and selects its port.
prepare_daemon() {
  # The password contains characters that clients might not escape.
  printf 'Pass word-%s\n' "$(openssl rand -hex 6)" >"$lab_password_file"
  htpasswd -iBc "$work/htpasswd" "$lab_user" < <(tr -d '\n' <"$lab_password_file") 2>/dev/null
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
  lab_port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
  lab_url=https://127.0.0.1:$lab_port
}

# Starts sushy-tools in place of bmc-daemon, with this server, HTTPS and a password. $1: its command.
start_sushy_tools() {
  prepare_daemon
  # After an eject, sushy-tools rebuilds the server with this empty disk.
  truncate --size 1M "$work/blank.img"
  cloud_server image sushy-tools-blank-image raw "$work/blank.img"
  cat >"$work/sushy-tools.conf" <<END
SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = $lab_port
SUSHY_EMULATOR_SSL_CERT = '$work/cert.pem'
SUSHY_EMULATOR_SSL_KEY = '$work/key.pem'
SUSHY_EMULATOR_AUTH_FILE = '$work/htpasswd'
SUSHY_EMULATOR_OS_CLOUD = 'lab'
SUSHY_EMULATOR_ALLOWED_INSTANCES = ['$lab_server']
END
  SUSHY_EMULATOR_CONFIG=$work/sushy-tools.conf setsid "$1" >"$work/daemon.log" 2>&1 &
  lab_daemon=$!
  until curl --silent --insecure --output /dev/null "$lab_url/redfish/v1"; do
    kill -0 "$lab_daemon" 2>/dev/null || die "sushy-tools ended: $(tail -n 5 "$work/daemon.log")"
    sleep 0.1
  done
  say "sushy-tools serves the server at $lab_url"
}

# Starts a daemon with HTTPS and a password. Arguments: more lines of its configuration.
start_daemon() {
  prepare_daemon
  cat >"$work/bmc-daemon.conf" <<END
EMULATOR_LISTEN_IP = '127.0.0.1'
EMULATOR_LISTEN_PORT = $lab_port
EMULATOR_SSL_CERT = '$work/cert.pem'
EMULATOR_SSL_KEY = '$work/key.pem'
EMULATOR_AUTH_FILE = '$work/htpasswd'
EMULATOR_STATE_DIR = '$work/state'
EMULATOR_CONSOLE_SSH_PORT = 0
# Guests without acceleration are slow on a busy host.
EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 30
END
  printf '%s\n' "$@" >>"$work/bmc-daemon.conf"
  (
    # The daemon does not inherit the pipe that keeps libvirtd alive. So libvirtd ends with the script, even if
    # the script is killed.
    if [ -n "$libvirtd_hold" ]; then exec {libvirtd_hold}>&-; fi
    exec env "XDG_DATA_HOME=$state/lib" setsid node packages/bmc-daemon/bin/bmc-daemon.js --config "$work/bmc-daemon.conf" \
      >"$work/daemon.log" 2>&1
  ) &
  lab_daemon=$!
  until [ "$(node scripts/start.d/ask.js "$lab_url/redfish/v1")" = rackless ]; do
    kill -0 "$lab_daemon" 2>/dev/null || die "The daemon ended: $(tail -n 5 "$work/daemon.log")"
    sleep 0.1
  done
  say "bmc-daemon serves the machines at $lab_url"
}

# Ends the processes of this lab, the daemon first.
# shellcheck disable=SC2317,SC2329 # scripts/clients' trap calls it
stop_lab() {
  if [ -n "$lab_daemon" ]; then
    kill "$lab_daemon" 2>/dev/null || true
    wait "$lab_daemon" 2>/dev/null || true
  fi
  if [ -n "$lab_server" ]; then cloud_server delete "$lab_server" || true; fi
  if [ -n "$lab_cloud" ]; then scripts/openstack-lab down --dir "$lab_cloud" >&2 || true; fi
  if [ -n "$libvirtd_pid" ]; then stop_private_libvirtd; fi
}
