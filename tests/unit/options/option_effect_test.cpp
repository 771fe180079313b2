// Every option says whether it changes results.
#include "options/option_effect.h"

#include <gtest/gtest.h>

#include "options/resolve.h"

namespace octet {
namespace {

TEST(OptionEffect, EveryOptionOfARunHasOne) {
  for (const Command command : {Command::kGenerate, Command::kScore}) {
    Options options;
    for (const OptionRow& row : option_rows(command, options)) {
      EXPECT_TRUE(effect_of(row.info.name).has_value()) << row.info.name << ": sort it in option_effect.cpp";
    }
  }
}

TEST(OptionEffect, IsOfTheRowsOrOfTheRun) {
  EXPECT_EQ(effect_of("temperature"), Effect::kResults);
  EXPECT_EQ(effect_of("max_batch"), Effect::kRunning);
  EXPECT_EQ(effect_of("no_such_option"), std::nullopt);
}

}  // namespace
}  // namespace octet
