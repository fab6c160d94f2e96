// Load for a coordinator: fake workers and clients in one process, one row a call, one line of JSON
// at its end. coordinator_bench.py starts it.
#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <string>

#include "tests/bench/coordinator/floor.h"
#include "tests/bench/coordinator/rows.h"

namespace noisefloor::bench {
namespace {

using Json = nlohmann::json;

struct Arguments {
  std::string coordinator = "127.0.0.1:7077";
  std::string worker_access;
  std::string person_access;
  pid_t process = 0;
};

RowTarget TargetOf(const Arguments& arguments) {
  auto workers = Target::Make(arguments.coordinator, arguments.worker_access);
  MustBe(workers.status());
  auto people = Target::Make(arguments.coordinator, arguments.person_access);
  MustBe(people.status());
  return {*std::move(workers), *std::move(people), arguments.process};
}

void AddFleet(CLI::App& command, FleetShape& fleet) {
  command.add_option("--workers", fleet.workers);
  command.add_option("--slots", fleet.slots, "of each worker");
  command.add_option("--prefix", fleet.prefix, "of the workers' names");
}

// What was chosen is done after the command line is read.
class Program {
 public:
  Program() : app_("Load for a noisefloor coordinator; coordinator_bench.py starts it") {
    app_.require_subcommand(1);
    app_.add_option("--coordinator", arguments_.coordinator, "its address");
    app_.add_option("--worker-access", arguments_.worker_access, "access file of workers");
    app_.add_option("--person-access", arguments_.person_access, "access file of people");
    app_.add_option("--process", arguments_.process, "the coordinator's, whose CPU time is told");
    AddWorkerRows();
    AddPeopleRows();
    AddFloorRows();
  }

  int Run(int argc, char** argv) {
    CLI11_PARSE(app_, argc, argv);
    std::cout << chosen_() << std::endl;
    return 0;
  }

 private:
  CLI::App& Add(const char* name, const char* help, std::function<Json()> row) {
    CLI::App& command = *app_.add_subcommand(name, help);
    command.callback([this, row = std::move(row)] { chosen_ = row; });
    return command;
  }

  void AddWorkerRows() {
    CLI::App& lives = Add("lives", "members from lease to settlement",
                          [this] { return MeasureLives(TargetOf(arguments_), lives_); });
    AddFleet(lives, lives_.fleet);
    lives.add_option("--lives", lives_.lives, "settlements to wait for");
    lives.add_option("--seconds", lives_.seconds, "at most");
    lives.add_option("--batches", lives_.batches, "of records of a life");
    lives.add_option("--records", lives_.records, "of a batch");

    CLI::App& points = Add("points", "records and their acknowledgements",
                           [this] { return MeasurePoints(TargetOf(arguments_), points_); });
    points.add_option("--streams", points_.streams, "sessions with a lease each");
    points.add_option("--batch", points_.batch, "records of a message");
    points.add_option("--window", points_.window, "messages that may wait");
    points.add_option("--rate", points_.rate, "records a second; 0: as many as are taken");
    points.add_option("--seconds", points_.seconds, "at most");
    points.add_option("--points", points_.points, "records, at most; 0: no limit");
    points.add_option("--submit", points_.submit, "a sweep of its own");
    points.add_option("--prefix", points_.prefix, "of the workers' names");
    points.add_option("--hardware", points_.hardware, "class of its workers and its sweep");

    CLI::App& upload =
        Add("upload", "one file", [this] { return MeasureUpload(TargetOf(arguments_), upload_); });
    upload.add_option("--mib", upload_.mebibytes, "its size");

    CLI::App& hold = Add("hold", "workers that take leases and keep them, until the input ends",
                         [this] { return MeasureHold(TargetOf(arguments_), hold_); });
    AddFleet(hold, hold_.fleet);
    hold.add_option("--reconnect", hold_.fleet.reconnect, "after a loss");
    Add("first-lease", "when a worker that knocks holds a lease",
        [this] { return MeasureFirstLease(TargetOf(arguments_)); });
  }

  void AddPeopleRows() {
    CLI::App& latency = Add("latency", "submit to lease, idle",
                            [this] { return MeasureLatency(TargetOf(arguments_), latency_); });
    latency.add_option("--count", latency_.count, "submissions");

    CLI::App& submit = Add("submit", "sweeps, one after the other",
                           [this] { return MeasureSubmit(TargetOf(arguments_), submit_); });
    submit.add_option("--cells", submit_.cells);
    submit.add_option("--members", submit_.members);
    submit.add_option("--count", submit_.count, "sweeps");

    CLI::App& query = Add("query", "one call again and again",
                          [this] { return MeasureQuery(TargetOf(arguments_), query_); });
    query.add_option("--what", query_.what)
        ->check(CLI::IsMember(
            {"members", "member", "sweep", "sweeps", "explain", "workers", "version"}));
    query.add_option("--count", query_.count, "calls, at most");
    query.add_option("--seconds", query_.seconds, "at most");
    query.add_option("--sweep", query_.sweep);
    query.add_option("--cells", query_.cells, "of that sweep");
    query.add_option("--replicates", query_.replicates, "of a cell");

    CLI::App& change = Add("change", "all members of a sweep",
                           [this] { return MeasureChange(TargetOf(arguments_), change_); });
    change.add_option("--what", change_.what)->check(CLI::IsMember({"cancel", "retry"}));
    change.add_option("--sweep", change_.sweep);
  }

  void AddFloorRows() {
    CLI::App& floor = Add("floor-serve", "the least that keeps and answers, until the input ends",
                          [this] { return ServeFloor(folder_, members_); });
    floor.add_option("--folder", folder_)->required();
    floor.add_option("--members", members_, "that wait from the start");

    CLI::App& disk = Add("disk", "what a sync takes, perhaps beside a large file",
                         [this] { return MeasureDisk(folder_, seconds_, mebibytes_); });
    disk.add_option("--folder", folder_)->required();
    disk.add_option("--seconds", seconds_, "without a file");
    disk.add_option("--mib", mebibytes_, "of the file");
  }

  CLI::App app_;
  Arguments arguments_;
  LivesRow lives_;
  PointsRow points_;
  UploadRow upload_;
  HoldRow hold_;
  LatencyRow latency_;
  SubmitRow submit_;
  QueryRow query_;
  ChangeRow change_;
  std::string folder_;
  size_t members_ = 0;
  double seconds_ = 2;
  size_t mebibytes_ = 0;
  std::function<Json()> chosen_;
};

}  // namespace
}  // namespace noisefloor::bench

int main(int argc, char** argv) { return noisefloor::bench::Program().Run(argc, argv); }
